from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.benchmark import measure
from pipeline.benchmark.results import STAGES
from pipeline.benchmark.run import PredictedBatch, RunRecord
from pipeline.benchmark.task import Job
from pipeline.serving import manifest
from pipeline.serving.load import load
from tasks.flights import TASK

SPECS = list(TASK.pipelines)


@pytest.fixture(scope="module")
def batch(small_flights: Path) -> PredictedBatch:
    return PredictedBatch(TASK, Job("flights", "logistic", "cpu", small_flights), SPECS)


@pytest.fixture(scope="module")
def folder(batch: PredictedBatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of all pipelines."""
    folder = tmp_path_factory.mktemp("run")
    lines: list[str] = []
    batch.run(folder, lines.append)
    (folder / "lines.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def record(folder: Path) -> RunRecord:
    return msgspec.json.decode((folder / "record.json").read_bytes(), type=RunRecord)


def test_every_listed_file_is_there_with_its_digest(folder: Path, record: RunRecord) -> None:
    parts = [part for run in record.pipelines for part in (run.model, run.predictions)]
    for part in parts:
        data = (folder / part.file).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (part.bytes, part.sha256)
    listed = {part.file.partition("/")[0] for part in parts} | {"record.json", "lines.txt"}
    assert {path.name for path in folder.iterdir()} == listed


def test_the_record_tells_what_ran_on_what(record: RunRecord, small_flights: Path) -> None:
    assert [run.pipeline for run in record.pipelines] == SPECS
    assert (record.task, record.split, record.seed) == ("flights", "time", 0)
    assert record.data.sha256 == hashlib.sha256(small_flights.read_bytes()).hexdigest()
    assert record.data.bytes == small_flights.stat().st_size
    assert record.machine.packages["scikit-learn"]


@pytest.mark.parametrize("index", range(len(SPECS)))
def test_times_and_places_are_recorded(record: RunRecord, index: int) -> None:
    run = record.pipelines[index]
    assert {"read", "preprocess", "fit", "predict"} <= set(run.stages) <= set(STAGES)
    assert 0 < sum(run.stages.values()) <= run.total
    calls = {movement.call for movement in run.execution_log}
    assert {"fit", "predict_proba"} <= calls
    assert (run.device, run.device_why) == ("cpu", 'device="cpu" was asked for')
    assert run.placement[-1].step == TASK.pipeline(run.pipeline, 0).steps[-1][0]


@pytest.mark.parametrize("index", range(len(SPECS)))
def test_predictions_are_those_of_the_test_rows(
    folder: Path, record: RunRecord, small_flights: Path, index: int
) -> None:
    run = record.pipelines[index]
    table = pq.read_table(folder / run.predictions.file)
    frame = pd.read_parquet(small_flights, columns=["month", "late"])
    test = frame["month"] > 9
    np.testing.assert_array_equal(table["truth"], frame["late"][test])
    assert (run.rows_train, run.rows_test) == (int((~test).sum()), int(test.sum()))
    probability = table["probability"].to_numpy()
    assert ((probability > 0) & (probability < 1)).all()
    judged = measure.Outcome(y_true=table["truth"].to_numpy(), predicted=probability)
    assert run.metrics == pytest.approx(measure.judge_outcome(TASK, judged))


@pytest.mark.quick(1)
@pytest.mark.parametrize("index", range(len(SPECS)))
def test_the_saved_model_is_the_one_that_ran(
    folder: Path, record: RunRecord, small_flights: Path, index: int
) -> None:
    run = record.pipelines[index]
    model = load(folder / f"{run.pipeline}.model", "cpu")
    frame = pd.read_parquet(small_flights)
    test = frame.loc[frame["month"] > 9, list(TASK.features)]
    recorded = pq.read_table(folder / run.predictions.file)["probability"].to_numpy()
    np.testing.assert_allclose(model.predict_proba(test)[:, 1], recorded, rtol=1e-12)
    # scikit-learn works in float64 where we did in float32.
    lifted = model.to_sklearn()
    np.testing.assert_allclose(lifted.predict_proba(test)[:, 1], recorded, atol=1e-5)
    described, _ = manifest.read_manifest(folder / f"{run.pipeline}.model")
    assert described.metrics == run.metrics
    assert described.data_sha256 == record.data.sha256
    assert described.estimator == run.code
    assert {learnt.rows for learnt in model.profile_.values()} == {run.rows_train}


def test_it_says_as_many_lines_as_it_promised(folder: Path, batch: PredictedBatch) -> None:
    lines = (folder / "lines.txt").read_text().splitlines()
    assert len(lines) == batch.steps == 2 * len(SPECS)
    assert all(any(line.startswith(f"{pipeline}: ") for pipeline in SPECS) for line in lines)


def test_changed_parameters_reach_the_model_and_the_record(
    batch: PredictedBatch, tmp_path: Path
) -> None:
    job = replace(batch.job, seed=3, split="random", changes={"xgbclassifier__n_estimators": 2})
    record = PredictedBatch(TASK, job, ["boosting"]).run(tmp_path, print)
    run = record.pipelines[0]
    model = load(tmp_path / "boosting.model", "cpu").to_sklearn()
    assert model[-1].get_booster().num_boosted_rounds() == 2
    assert "n_estimators=2" in run.code
    assert "random_state=3" in run.code
    assert (record.split, record.seed) == ("random", 3)


def test_a_record_with_an_unknown_field_is_refused(folder: Path) -> None:
    data = msgspec.json.decode((folder / "record.json").read_bytes())
    with pytest.raises(msgspec.ValidationError, match="comment"):
        msgspec.convert(data | {"comment": "mine"}, RunRecord)
