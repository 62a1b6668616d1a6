from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.benchmark.record import results
from pipeline.benchmark.record.results import STAGES, Cell, FilePart, Results
from pipeline.benchmark.run import measure
from pipeline.benchmark.single import PredictedBatch
from pipeline.serving import manifest
from pipeline.serving.load import load
from pipeline.task.task import Job
from tasks.flights import TASK

PIPELINES = list(TASK.pipelines)


@pytest.fixture(scope="module")
def folder(small_flights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of all pipelines."""
    folder = tmp_path_factory.mktemp("run")
    batch = PredictedBatch(TASK, Job("flights", "logistic", "cpu", small_flights), PIPELINES)
    lines: list[str] = []
    batch.run(folder, lines.append)
    assert len(lines) == 2 * len(PIPELINES)
    assert all(any(line.startswith(f"{pipeline}: ") for pipeline in PIPELINES) for line in lines)
    return folder


@pytest.fixture(scope="module")
def record(folder: Path) -> Results:
    return results.load(folder / "results.json")


def parts(cell: Cell) -> tuple[FilePart, FilePart]:
    assert cell.model is not None
    assert cell.predictions is not None
    return cell.model, cell.predictions


def test_the_record_is_a_comparison_of_one_variant(record: Results, small_flights: Path) -> None:
    assert [(cell.pipeline, cell.variant) for cell in record.cells] == [
        (name, "cpu") for name in PIPELINES
    ]
    assert [pipeline.name for pipeline in record.pipelines] == PIPELINES
    (variant,) = record.variants
    assert (variant.name, variant.why) == ("cpu", 'device="cpu" was requested')
    assert (record.task.name, record.protocol.seed, record.protocol.repeats) == ("flights", 0, 1)
    assert record.task.split.startswith("time: ")
    assert record.data.sha256 == hashlib.sha256(small_flights.read_bytes()).hexdigest()
    assert record.machine.packages["scikit-learn"]
    for cell in record.cells:
        (run,) = cell.runs
        assert {"read", "preprocess", "fit", "predict"} <= set(run.stages) <= set(STAGES)
        assert 0 < sum(run.stages.values()) <= run.total
        assert {"fit", "predict_proba"} <= {movement.call for movement in cell.execution_log}
        assert cell.placement[-1].step == TASK.pipeline(cell.pipeline, 0).steps[-1][0]


@pytest.mark.parametrize("index", range(len(PIPELINES)))
def test_the_saved_model_and_predictions_are_those_of_the_run(
    folder: Path, record: Results, small_flights: Path, index: int
) -> None:
    cell, pipeline = record.cells[index], record.pipelines[index]
    for part in parts(cell):
        data = (folder / part.file).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (part.bytes, part.sha256)
    table = pq.read_table(folder / parts(cell)[1].file)
    frame = pd.read_parquet(small_flights)
    test = frame["month"] > 9
    np.testing.assert_array_equal(table["truth"], frame["late"][test])
    assert (record.task.rows_train, record.task.rows_test) == ((~test).sum(), test.sum())
    probability = table["probability"].to_numpy()
    judged = measure.Outcome(y_true=table["truth"].to_numpy(), predicted=probability)
    assert cell.metrics == pytest.approx(measure.judge_outcome(TASK, judged))
    model, rows = load(folder / f"{cell.pipeline}.model", "cpu"), frame.loc[test, [*TASK.features]]
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], probability, rtol=1e-12)
    # scikit-learn works in float64 where we did in float32.
    lifted = model.to_sklearn().predict_proba(rows)[:, 1]
    np.testing.assert_allclose(lifted, probability, atol=1e-5)
    described, _ = manifest.read_manifest(folder / f"{cell.pipeline}.model")
    assert described.metrics == cell.metrics
    assert described.data_sha256 == record.data.sha256
    assert described.estimator == pipeline.code
    assert {learnt.rows for learnt in model.profile_.values()} == {record.task.rows_train}
