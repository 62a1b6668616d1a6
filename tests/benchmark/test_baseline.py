from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pipeline.benchmark.record import results
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report import baseline
from pipeline.errors import DataError
from tests.benchmark import fixtures
from tests.commands import call


def slower(record: Results, factor: float) -> Results:
    cells = [
        replace(cell, runs=[replace(run, total=run.total * factor) for run in cell.runs])
        for cell in record.cells
    ]
    return replace(record, cells=cells)


def test_times_are_set_beside_those_of_then() -> None:
    now = fixtures.normal()
    made = baseline.baseline_table(now, slower(now, 2.0))
    assert len(made.rows) == len([cell for cell in now.cells if cell.runs]) == 6
    for row in made.rows:
        assert row[4].text == "2.00× faster"
        low, high = row[5].text.removesuffix("×").split("–")
        assert float(low) <= 2 <= float(high)
    assert made.note.endswith("All else is the same.")


def test_what_else_differs_is_named() -> None:
    now = fixtures.normal()
    machine = replace(now.machine, cpu="Another", packages={**now.machine.packages, "numpy": "9"})
    then = replace(now, machine=machine, source=replace(now.source, commit="abc"))
    note = baseline.baseline_table(now, then).note
    for word in ("Another", "numpy: ", " now, 9 then", "abc then"):
        assert word in note


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda r: replace(r, task=replace(r.task, name="other")), "task: 'flights' now"),
        (lambda r: replace(r, data=replace(r.data, sha256="0" * 64)), "data (SHA-256)"),
        (lambda r: replace(r, task=replace(r.task, split="other")), "split"),
        (lambda r: replace(r, task=replace(r.task, rows_train=1)), "training rows"),
        (lambda r: replace(r, protocol=replace(r.protocol, clock="other")), "clock"),
        (
            lambda r: replace(r, pipelines=[replace(s, code="other") for s in r.pipelines]),
            "parameters are",
        ),
        (
            lambda r: replace(r, pipelines=[replace(s, name="x") for s in r.pipelines]),
            "pipelines: ",
        ),
    ],
)
def test_results_of_other_work_are_refused(change: Any, why: str) -> None:
    now = fixtures.normal()
    with pytest.raises(DataError, match=r"not comparable") as caught:
        baseline.baseline_table(now, change(now))
    assert why in str(caught.value)


def test_the_command_compares_recorded_results(tmp_path: Path) -> None:
    now, then = fixtures.normal(), slower(fixtures.normal(), 0.5)
    (tmp_path / "results.json").write_bytes(results.dumps(now))
    (tmp_path / "old.json").write_bytes(results.dumps(then))
    arguments = ["--from-results", "--out", str(tmp_path), "--baseline"]
    code, out, err = call("compare", "flights", *arguments, str(tmp_path / "old.json"))
    assert (code, err) == (0, "")
    assert "slower" in out
    (tmp_path / "old.json").write_bytes(
        results.dumps(replace(then, task=replace(then.task, split="other")))
    )
    code, _, err = call("compare", "flights", *arguments, str(tmp_path / "old.json"))
    assert code == 65
    assert "split" in err
