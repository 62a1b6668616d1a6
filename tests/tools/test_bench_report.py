"""Tables, targets and documents say what the record says."""

from __future__ import annotations

import doctest
import re
from functools import partial

import msgspec
import pytest

from pipeline.errors import DataError
from tests.tools.bench_records import cell, results
from tools import docs
from tools.bench import growth, mixed, preprocessing, record, report
from tools.bench.__main__ import CLAIMS

RECORD = results(
    cell("reference", {"fit": [8.0] * 5, "read": [1.0] * 5}, auc=0.8),
    cell("ours", {"fit": [1, 1, 1, 50, 1], "read": [0.5] * 5}, auc=0.9),
    cell("broken", why="no module | polars"),
)


def found(target: report.Target, made: record.Results = RECORD) -> list[str]:
    return [line.split(" | ")[-2:] for line in report.verdicts(made, [target]).splitlines()[2:]][0]


FASTER, ADDED = "8.0× (0.2–8.0)", "8.000/1.000 s: +7000.000 ms"
SHARE = "0.500/1.000 s: 0.50× (0.50–0.50)"
FAST = partial(report.as_fast, "fit", "ours", "reference")
AT_MOST = partial(report.at_most, "read", "ours", "reference")
ADDS = partial(report.adds_at_most, "fit", "reference", "ours")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (FAST(8.0), [FASTER, "yes |"]),
        (FAST(8.1), [FASTER, "**no** |"]),
        (FAST(1, also=lambda cell: False), [FASTER, "**no** |"]),
        (AT_MOST(0.5), [SHARE, "yes |"]),
        (AT_MOST(0.49), [SHARE, "**no** |"]),
        (ADDS(7.0), [ADDED, "yes |"]),
        (ADDS(6.9), [ADDED, "**no** |"]),
        (report.as_fast("fit", "broken", "reference", 1), ["–", "**no** |"]),
        (report.at_most("fit", "broken", "reference", 1), ["–", "**no** |"]),
        (report.adds_at_most("fit", "broken", "reference", 1), ["–", "**no** |"]),
    ],
)
def test_a_target_is_met_at_its_number_and_not_beside(
    target: report.Target, said: list[str]
) -> None:
    assert found(target) == said


def test_short_times_are_in_milliseconds() -> None:
    made = results(cell("a", {"call": [0.002] * 3}), cell("b", {"call": [0.001] * 3}))
    assert (
        found(report.at_most("call", "a", "b", 3), made)[0] == "2.000/1.000 ms: 2.00× (2.00–2.00)"
    )


def test_a_target_is_of_its_cases_and_of_variants_that_were_asked_for() -> None:
    elsewhere = report.as_fast("fit", "ours", "reference", 1, cases=["other"])
    absent = report.as_fast("fit", "theirs", "reference", 1)
    assert len(report.verdicts(RECORD, [elsewhere, absent]).splitlines()) == 2


def test_columns_show_medians_the_most_and_the_last() -> None:
    times = {"fit": [1.0, 2.0, 9.0], "read": [1.0] * 3}
    made = results(cell("a", times, held={"peak": 7}, auc=0.8123))
    columns = [
        report.took("fit", "fit", "{:.1f}".format),
        report.took("both", "read+fit", "{:.1f}".format),
        report.most("peak", "peak"),
        report.most("start", "start"),
        report.value("AUC", "auc", "{:.3f}".format),
        report.value("R2", "r2", "{:.3f}".format),
    ]
    (row,) = report.Table(columns).text(made).splitlines()[2:]
    assert row == "| 2.0 | 3.0 | 7.00 MiB | – | 0.812 | – |"
    assert report.Table(columns, ["other"]).text(made) == ""


def test_a_failure_is_shown_once_and_cannot_break_the_table() -> None:
    columns = [
        report.variant(),
        report.took("fit", "fit", "{:.0f}".format, says_why=True),
        report.took("read", "read", "{:.0f}".format),
        report.factor("ratio", "fit", "reference"),
    ]
    assert report.Table(columns).text(RECORD).splitlines()[2:] == [
        "| reference | 8 | 1 | – |",
        "| ours | 1 | 0 | 0.12× (0.12–6.25) |",
        "| broken | failed: no module \\| polars | – | – |",
    ]


def test_a_wide_table_has_a_column_for_each_variant() -> None:
    wide = report.Wide("s", "fit", "{:.0f}".format, ["synthetic", "other"])
    assert wide.text(RECORD).splitlines()[2:] == ["| synthetic | 8 | 1 | – |"]
    assert report.Wide("s", "fit", str, ["other"]).text(RECORD) == ""


def test_code_with_changes_is_called_so() -> None:
    dirty = msgspec.structs.replace(RECORD.source, dirty=True)
    assert "and changes" in report.machine(msgspec.structs.replace(RECORD, source=dirty))
    assert "and changes" not in report.machine(RECORD)


@pytest.mark.parametrize("module", [growth, mixed, preprocessing, report])
def test_examples_in_docstrings_are_true(module) -> None:
    tried = doctest.testmod(module)
    assert (tried.failed, tried.attempted > 0) == (0, True)


# Records and documents.


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", CLAIMS)
def test_every_record_that_is_kept_is_that_of_its_claim(name: str) -> None:
    claim, folder = CLAIMS[name], docs.ROOT / "docs/results" / CLAIMS[name].folder
    if not folder.exists():
        assert "Not measured yet" in docs.claimed(name)()
        pytest.skip("not measured yet")
    kept = record.load(folder / "results.json")
    assert kept.claim == name
    assert kept.settings.keys() == claim.settings.keys()
    assert {cell.variant for cell in kept.cells} <= {variant.name for variant in claim.variants}
    if claim.details:
        assert (folder / "report.md").read_text() == claim.details(kept)


def test_the_document_follows_the_record(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "docs/results/wrapper-cpu"
    folder.mkdir(parents=True)
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    empty = "<!-- wrapper -->\nold\n<!-- /wrapper -->"
    assert "`.venv/bin/python -m tools.bench wrapper` does it" in docs.updated(
        "benchmarks.md", empty
    )
    times = {"fit": [1.0] * 3, "predict": [1.0] * 3, "predict one row": [1e-3] * 3}
    made = results(cell("bare", times), cell("wrapped", {**times, "fit": [1.5] * 3}))
    (folder / "results.json").write_bytes(docs.records.dumps(made))
    text = docs.updated("benchmarks.md", empty)
    assert re.findall(r"(\S+) \| (\S+) \|$", text, re.MULTILINE)[1:] == [
        ("(1.500–1.500)", "**no**"), ("(1.000–1.000)", "yes"), ("ms", "yes"),
    ]  # fmt: skip
    assert "old" not in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('"cells"', '"sells"'), "unknown field"),
        (lambda text: text.replace('"seconds"', '"second"'), "unknown field"),
        (lambda text: text.replace(record.SCHEMA, "other/1"), "Invalid enum value"),
        (lambda text: text[:100], "truncated"),
    ],
)
def test_another_record_is_refused(tmp_path, change, says) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(docs.records.dumps(RECORD))
    assert record.load(path) == RECORD
    path.write_text(change(path.read_text()))
    with pytest.raises(DataError, match=says):
        record.load(path)


def test_a_missing_record_says_what_makes_it(tmp_path) -> None:
    with pytest.raises(DataError, match="python -m tools.bench wrapper"):
        record.load(tmp_path / "wrapper-cpu" / "results.json")
