"""The page over all reports: what was measured, what failed, what has no data."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace
from scipy.stats import gmean

from pipeline.benchmark.judge.statistics import over_tasks
from pipeline.benchmark.record.results import Results, dumps
from pipeline.benchmark.report.gallery_page import build_gallery, compared, speed_table
from pipeline.benchmark.report.runs_csv import runs_csv
from pipeline.errors import DataError
from tests.benchmark import fixtures
from tests.benchmark.test_report import Batch


def test_every_report_that_is_there_is_shown(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no report"):
        build_gallery(tmp_path)
    for name in ("higgs", "taxi"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_bytes(dumps(fixtures.with_gpu()))
    page = Batch(build_gallery(tmp_path).read_text(encoding="utf-8"))
    links = ["higgs/index.html", "taxi/index.html", "gallery.csv"]
    assert page.values("href") == links
    assert "2 reports" in page.text
    assert len(pd.read_csv(tmp_path / "gallery.csv")) == 2 * 3 * 3
    (tmp_path / "taxi" / "results.json").write_bytes(b"{}")
    with pytest.raises(DataError, match="not a pipeline.results/2 file"):
        build_gallery(tmp_path)


def of_tasks(*records: Results) -> dict[str, Results]:
    """Return records, each as that of a task of its own."""
    named = [replace(e, task=replace(e.task, name=f"t{i}")) for i, e in enumerate(records)]
    return {each.task.name: each for each in named}


def test_a_row_says_how_fast_each_variant_is_and_how_good_the_pipeline() -> None:
    table = speed_table(of_tasks(fixtures.with_gpu(), fixtures.normal()))
    assert table.head == ("Task", "Pipeline", "cpu", "cuda", "Metric")
    rows = [[cell.text for cell in row] for row in table.rows]
    assert rows[0] == ["t0", "logistic", "2.38× faster", "1.30× slower",
                       "roc_auc 0.812, dummy 0.500"]  # fmt: skip
    assert [cell.tone for cell in table.rows[0][2:4]] == ["good", "bad"]
    assert rows[3][3] == "–", "it ran on the other alone"
    bare = of_tasks(replace(fixtures.normal(), cells=[], baseline={}))
    assert [cell.text for cell in speed_table(bare).rows[0]] == ["t0", "logistic", "–"]


def test_what_fails_or_shows_no_difference_makes_no_claim() -> None:
    failed = compared(fixtures.parity_failed(), "boosting", "cpu")
    assert (failed.text, failed.tone) == ("no claim: quality fails", "bad")
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
    records = [*entries.values()]
    table = pd.read_csv(io.StringIO(runs_csv(*records)))
    table = table[(table["variant"] == "cpu") & (table["parity"] != "FAIL")].dropna(
        subset="time_ratio"
    )
    wanted = gmean(table.groupby("task")["time_ratio"].agg(gmean))
    found, n_tasks = over_tasks(records, "cpu")
    assert (found.value, n_tasks) == (pytest.approx(wanted), 5)
    assert over_tasks(records, "cuda") is None, "of two tasks"
    last = speed_table(entries).rows[-1]
    assert [cell.text for cell in last][:2] == ["All tasks", "geometric mean"]
    assert last[2].text.startswith(f"{1 / wanted:.2f}× faster (2.3")
    assert last[2].text.endswith("; 5 tasks)")
    assert speed_table(of_tasks(*every[:4])).rows[-1][0].text == "t3"
