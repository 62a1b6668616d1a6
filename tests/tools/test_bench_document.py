"""The documents say what the record says."""

from __future__ import annotations

import doctest
import re

import msgspec
import pytest

from pipeline.errors import DataError
from tests.tools.bench_records import cell, memory, results
from tools import docs
from tools.bench import markdown, schema, tables, work

RECORD = results(
    cell("sklearn-str", [8.0] * 5, [10.0] * 5, difference=8.7e-6),
    cell("sklearn-object", [6.0] * 5, [9.0] * 5),
    cell("ours", [1.0] * 5, [2.0] * 5),
    cell("polars", [], [], why="no module | polars"),
    watched=[memory()],
)

FOLDER = "docs/results/preprocessing-cpu"


def test_the_report_beside_the_record_is_up_to_date() -> None:
    path = docs.ROOT / FOLDER / "results.json"
    if not path.exists():
        pytest.skip("not measured yet")
    assert (path.parent / "report.md").read_text() == markdown.report(schema.load(path))


def test_the_document_follows_the_record(tmp_path, monkeypatch) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "results.json").write_bytes(schema.dumps(RECORD))
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    text = docs.updated("benchmarks.md", "<!-- preprocessing -->\nold\n<!-- /preprocessing -->")
    assert "8.0× (8.0–8.0)" in text
    assert "old" not in text


def test_what_was_not_measured_is_not_claimed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    assert (
        docs.PAGES["benchmarks.md"]["preprocessing"]()
        == "Not measured yet: `make bench-preprocessing` does it."
    )


def test_a_target_that_is_not_met_is_shown_as_such() -> None:
    rows = re.findall(r"^\| synthetic \| (\w+) \| ours \| .* \| (\S+) \|$", text(), re.MULTILINE)
    assert rows == [
        ("fit_transform", "yes"),
        ("transform", "**no**"),
        ("fit_transform", "yes"),
        ("transform", "**no**"),
    ]


def test_a_failure_is_shown_and_cannot_break_the_table() -> None:
    assert "failed: no module \\| polars" in text()
    widths = {
        block: {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        for block in re.findall(r"(?:^\|.*\n?)+", text(), re.MULTILINE)
    }
    assert len(widths) == 4
    assert all(len(found) == 1 for found in widths.values())


def test_memory_is_shown_against_what_is_allowed() -> None:
    assert (
        "| memory | transform | ours | output + 25 % of input | 225 MiB | 220 MiB | yes |" in text()
    )


def test_code_with_changes_is_called_so() -> None:
    dirty = msgspec.structs.replace(RECORD.source, dirty=True)
    assert "and changes" in markdown.part(msgspec.structs.replace(RECORD, source=dirty))
    assert "and changes" not in text()


def text() -> str:
    return markdown.part(RECORD)


def test_the_record_can_be_read_again(tmp_path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(schema.dumps(RECORD))
    assert schema.load(path) == RECORD


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('"cells"', '"sells"'), "unknown field"),
        (lambda text: text.replace(schema.SCHEMA, "other/1"), "Invalid enum value"),
        (lambda text: text[:100], "truncated"),
    ],
)
def test_another_record_is_refused(tmp_path, change, says) -> None:
    path = tmp_path / "results.json"
    path.write_text(change(schema.dumps(RECORD).decode()))
    with pytest.raises(DataError, match=says):
        schema.load(path)


def test_a_missing_record_says_what_makes_it(tmp_path) -> None:
    with pytest.raises(DataError, match="make bench-preprocessing"):
        schema.load(tmp_path / "results.json")


@pytest.mark.parametrize("module", [markdown, tables, work])
def test_examples_in_docstrings_are_true(module) -> None:
    found = doctest.testmod(module)
    assert (found.failed, found.attempted > 0) == (0, True)
