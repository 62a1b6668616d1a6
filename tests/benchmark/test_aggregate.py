"""Comparisons together, against the same numbers by pandas and SciPy."""

from __future__ import annotations

import io
import math
from dataclasses import replace as replace_fields

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from scipy.stats import gmean

from pipeline.benchmark.aggregate import FEWEST, CellResult, cell_results, geometric_mean, standings
from pipeline.benchmark.report.aggregate_tables import gallery_csv, shade, square, standing_table
from pipeline.benchmark.results import Results
from tests.benchmark import fixtures


def named(results: Results, task: str) -> Results:
    return replace(results, task=replace(results.task, name=task))


def cells(*every: Results) -> list[CellResult]:
    return [cell for each in every for cell in cell_results(each)]


def one(every: list[CellResult], pipeline: str, variant: str) -> CellResult:
    return next(c for c in every if (c.pipeline, c.variant) == (pipeline, variant))


def test_the_mean_is_geometric_and_each_task_counts_once() -> None:
    small = named(fixtures.with_gpu(), "small")
    small = replace(
        small, pipelines=small.pipelines[:1],
        cells=[cell for cell in small.cells if cell.pipeline == "logistic"],
    )  # fmt: skip
    every = cells(fixtures.with_gpu(), small)
    table = pd.read_csv(io.StringIO(gallery_csv(every)))
    wanted = (
        table.groupby(["variant", "task"])["time_ratio"].agg(gmean).groupby("variant").agg(gmean)
    )
    found = {each.variant: each for each in standings(every)}
    assert {name: each.mean for name, each in found.items()} == pytest.approx(wanted.to_dict())
    assert (found["cuda"].tasks, found["cuda"].cells) == (2, 4)
    assert found["cuda"].interval is None
    assert found["cuda"].counts["loss"] == 2, "logistic is slower on the GPU, in both"
    assert found["cuda"].worst == one(every, "logistic", "cuda")


def test_an_interval_is_over_tasks_and_covers_the_mean() -> None:
    random = np.random.default_rng(0)
    logs = [[math.log(0.5) + random.normal(0, 0.3)] * 4 for _ in range(40)]
    mean, interval = geometric_mean(logs)
    assert mean is not None
    assert interval is not None
    half = 1.96 * np.std([each[0] for each in logs]) / np.sqrt(40)
    assert math.log(interval[0]) == pytest.approx(math.log(mean) - half, abs=0.03)
    assert math.log(interval[1]) == pytest.approx(math.log(mean) + half, abs=0.03)
    assert geometric_mean(logs) == (mean, interval), "the same records give the same bytes"
    assert geometric_mean(logs[: FEWEST - 1])[1] is None
    assert geometric_mean([]) == (None, None)


def test_a_fast_variant_whose_quality_fails_wins_nothing() -> None:
    every = cells(fixtures.parity_failed())
    [cpu] = [each for each in standings(every) if each.variant == "cpu"]
    assert one(every, "boosting", "cpu").result == "quality fails"
    assert (cpu.counts["win"], cpu.counts["quality fails"], cpu.cells) == (2, 1, 2)
    shown = square(one(every, "boosting", "cpu"))
    assert (shown.text[-1], shown.shade) == ("✗", "x")
    assert "quality parity FAIL" in shown.words


def test_a_tie_has_no_shade_however_far_from_one_its_ratio_is() -> None:
    cell = one(cells(fixtures.with_gpu()), "logistic", "cuda")
    assert cell.speed is not None
    assert cell.speed.ratio is not None
    wide = replace_fields(cell.speed.ratio, value=1.4, interval=(0.4, 3.4))
    tie = replace_fields(cell, speed=replace_fields(cell.speed, ratio=wide))
    assert tie.result == "tie"
    assert (square(tie).text, square(tie).shade) == ("1.4 =", "")
    assert square(cell).shade[0] == "s"


def test_what_is_missing_is_counted() -> None:
    every = cells(fixtures.failed())
    found = {each.variant: each for each in standings(every)}
    assert (found["cpu"].counts["failed"], found["cpu"].cells) == (1, 2)
    assert (found["cuda"].counts["not run"], found["cuda"].mean) == (3, None)
    assert square(one(every, "forest", "cpu")).text == "failed"
    assert square(one(every, "forest", "cpu")).words == "MemoryError: 3 GiB"
    rows = standing_table([found["cuda"]], machines=False).rows
    assert [cell.text for cell in rows[0]][:3] == ["cuda", "–", "–"]


def test_what_was_stopped_took_at_least_so_much_longer() -> None:
    results = fixtures.failed()
    stopped = fixtures.with_cell(results, "forest", "cpu", stopped_after=105.0, why="stopped")
    reference = stopped.cell("forest", "reference")
    assert reference is not None
    least = 105.0 / np.median([run.total for run in reference.runs])
    cell = one(cells(stopped), "forest", "cpu")
    assert (cell.result, cell.at_least) == ("stopped", pytest.approx(least))
    assert square(cell).text == f"≥ {least:.3g}"
    assert square(cell).shade == "s3"
    [cpu] = [each for each in standings([cell]) if each.variant == "cpu"]
    assert (cpu.counts["stopped"], cpu.mean) == (1, None)


def test_without_a_reference_there_is_no_ratio() -> None:
    cell = one(cells(fixtures.failed("reference")), "forest", "cpu")
    assert (cell.ratio, cell.result) == (None, "not run")


def test_shades_are_symmetric() -> None:
    for ratio in (0.04, 0.11, 0.3, 0.6, 0.9):
        assert shade(ratio)[1:] == shade(1 / ratio)[1:]
        assert (shade(ratio)[0], shade(1 / ratio)[0]) == ("f", "s")
