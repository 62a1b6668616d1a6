"""The page over all reports: what was measured, what failed, what has no data."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace
from scipy.stats import gmean

import tasks
from pipeline.benchmark.judge.aggregate import over_tasks
from pipeline.benchmark.record.results import Results, dumps
from pipeline.benchmark.report.cells import cells_csv
from pipeline.benchmark.report.gallery_page import (
    Entry,
    build_gallery,
    compared,
    speed_table,
)
from tests.benchmark import fixtures
from tests.benchmark.test_report import Batch
from tests.commands import ROOT


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two tasks, of which one downloads its data."""
    (tmp_path / "tasks").mkdir()
    for name in ("__init__", "breast_cancer", "higgs"):
        shutil.copy(ROOT / "tasks" / f"{name}.py", tmp_path / "tasks")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "__path__", [str(tmp_path / "tasks")])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    return tmp_path


def built(workspace: Path) -> Batch:
    """Return the page of the reports in a folder."""
    return Batch(build_gallery(workspace / "reports").read_text(encoding="utf-8"))


def keep(workspace: Path, name: str, record: bytes, file: str = "results.json") -> None:
    """Leave a record where the report of a task lies."""
    (workspace / "reports" / name).mkdir(parents=True)
    (workspace / "reports" / name / file).write_bytes(record)


def test_a_report_is_shown_where_there_is_one_and_else_why_not(workspace) -> None:
    keep(workspace, "higgs", dumps(fixtures.with_gpu()))
    page = built(workspace)
    assert page.values("href") == ["higgs/index.html", "gallery.csv"]
    assert "Reports of 1 of 2 tasks" in page.text
    assert "make report TASK=breast_cancer" in page.text
    assert len(pd.read_csv(workspace / "reports" / "gallery.csv")) == 3 * 3
    keep(workspace, "breast_cancer", b"{}")
    assert "not a pipeline.results/2 file" in built(workspace).text


def of_tasks(*records: Results) -> list[Entry]:
    """Return the entries of records, each as that of a task of its own."""
    named = [replace(e, task=replace(e.task, name=f"t{i}")) for i, e in enumerate(records)]
    return [Entry(each.task.name, "", each) for each in named]


def test_a_row_says_how_fast_each_variant_is_and_how_good_the_pipeline() -> None:
    table = speed_table(of_tasks(fixtures.with_gpu(), fixtures.normal()))
    assert table.head == ("Task", "Pipeline", "cpu", "cuda", "Metric")
    rows = [[cell.text for cell in row] for row in table.rows]
    assert rows[0] == ["t0", "logistic", "2.38× faster", "1.30× slower",
                       "roc_auc 0.812, dummy 0.500"]  # fmt: skip
    assert [cell.tone for cell in table.rows[0][2:4]] == ["f2", "s1"]
    assert rows[3][3] == "–", "it ran on the other alone"
    bare = of_tasks(replace(fixtures.normal(), cells=[], baseline={}))
    assert [cell.text for cell in speed_table(bare).rows[0]] == ["t0", "logistic", "–"]


def test_what_fails_or_shows_no_difference_has_no_shade() -> None:
    failed = compared(fixtures.parity_failed(), "boosting", "cpu")
    assert (failed.text, failed.tone) == ("quality fails", "bad")
    assert compared(fixtures.failed(), "forest", "cpu").text == "failed"
    assert compared(fixtures.failed("reference"), "forest", "cpu").text == "–"
    base = fixtures.normal()
    same = base.cell("forest", "reference").runs
    tie = compared(fixtures.with_cell(base, "forest", "cpu", runs=same), "forest", "cpu")
    assert (tie.text, tie.tone) == ("no difference shown", "")


def test_the_mean_is_geometric_each_task_counts_once_and_what_fails_not_at_all() -> None:
    small = fixtures.with_gpu()
    cells = [cell for cell in small.cells if cell.pipeline == "logistic"]
    small = replace(small, pipelines=small.pipelines[:1], cells=cells)
    every = [fixtures.with_gpu(), small, fixtures.normal(), fixtures.parity_failed(),
             fixtures.failed()]  # fmt: skip
    entries = of_tasks(*every)
    records = [each.results for each in entries]
    table = pd.read_csv(io.StringIO(cells_csv(*records)))
    table = table[(table["variant"] == "cpu") & (table["parity"] != "FAIL")].dropna(
        subset="time_ratio"
    )
    wanted = gmean(table.groupby("task")["time_ratio"].agg(gmean))
    found = over_tasks(records, "cpu")
    assert (found.value, found.n) == (pytest.approx(wanted), 5)
    assert over_tasks(records, "cuda") is None, "of two tasks"
    last = speed_table(entries).rows[-1]
    assert [cell.text for cell in last][:2] == ["All tasks", "geometric mean"]
    assert last[2].text.startswith(f"{1 / wanted:.2f}× faster (2.3")
    assert last[2].text.endswith("; 5 tasks)")
    assert speed_table(entries[:4]).rows[-1][0].text == "t3"
