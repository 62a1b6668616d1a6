"""The cells of a comparison as CSV, read back by pandas."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.runs_csv import runs_csv
from tests.benchmark import fixtures, fuller


def read(results: Results) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(runs_csv(results)))


def test_it_is_read_by_pandas_and_has_the_records_values() -> None:
    results = fixtures.with_gpu()
    table = read(results).set_index(["pipeline", "variant"])
    assert len(table) == 9
    for cell in results.cells:
        row = table.loc[cell.pipeline, cell.variant]
        times = [run.total for run in cell.runs]
        assert row["median_seconds"] == np.median(times)
        assert (row["min_seconds"], row["max_seconds"]) == (min(times), max(times))
        assert row["runs"] == len(times)
        assert row["metric_roc_auc"] == cell.metrics["roc_auc"]
        assert row["peak_rss_bytes"] == cell.peak_rss_bytes
        parts = row[[f"{s}_seconds" for s in ("read", "preprocess", "copy", "fit", "predict")]]
        assert parts.sum() + row["other_seconds"] == pytest.approx(row["median_seconds"])
    cuda, reference = table.loc["forest", "cuda"], table.loc["forest", "reference"]
    assert cuda["time_ratio"] == cuda["median_seconds"] / reference["median_seconds"]
    assert cuda["time_ratio_low"] <= cuda["time_ratio"] <= cuda["time_ratio_high"]
    assert (cuda["outcome"], cuda["parity"]) == ("faster", "PASS")
    assert np.isnan(reference["time_ratio"])


def test_what_did_not_run_has_a_row_without_numbers() -> None:
    table = read(fixtures.failed()).set_index(["pipeline", "variant"])
    assert set(table.xs("cuda", level="variant")["status"]) == {"skipped"}
    lost = table.loc["forest", "cpu"]
    assert (lost["status"], lost["runs"]) == ("failed", 0)
    assert lost[["median_seconds", "time_ratio", "metric_roc_auc", "parity"]].isna().all()


def test_odd_names_stay_in_their_cells_and_are_no_formulas() -> None:
    hostile = read(fuller.hostile())
    assert len(hostile) == 9
    assert any(fixtures.HOSTILE in name for name in hostile["pipeline"])
    base = fixtures.normal()
    named = replace(base, task=replace(base.task, name="=HYPERLINK(1)"))
    assert set(read(named)["task"]) == {"'=HYPERLINK(1)"}
