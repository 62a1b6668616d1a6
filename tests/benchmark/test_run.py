from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.benchmark import measure
from pipeline.benchmark.measure import Job
from pipeline.benchmark.results import STAGES
from pipeline.benchmark.run import Batch, RunRecord
from pipeline.data import files
from pipeline.errors import ConfigError
from pipeline.serving import manifest
from pipeline.serving.load import load
from tasks.flights import TASK

SPECS = list(TASK.pipelines)
PLAIN = """
import sys, json
import pandas as pd, skops.io
models, table, trusted, features = json.loads(sys.argv[1])
frame = pd.read_parquet(table)
frame = frame.loc[frame["month"] > 9, features]
fitted = [skops.io.load(model, trusted=trusted) for model in models]
print(json.dumps([model.predict_proba(frame)[:, 1].tolist() for model in fitted]))
ours = sorted(name for name in sys.modules if name.partition(".")[0] in ("pipeline", "tasks"))
assert not ours, ours
"""


@pytest.fixture(scope="module")
def batch(small_flights: Path) -> Batch:
    return Batch(TASK, Job("flights", "logistic", "cpu", small_flights), SPECS)


@pytest.fixture(scope="module")
def folder(batch: Batch, tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    parts = [part for run in record.pipelines for part in (run.model, run.predictions, run.saved)]
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
    assert run.metrics == pytest.approx(measure.judge(TASK, judged))


@pytest.mark.parametrize("index", range(len(SPECS)))
def test_the_model_loads_and_predicts_the_same(
    folder: Path, record: RunRecord, small_flights: Path, index: int
) -> None:
    run = record.pipelines[index]
    model = files.load(folder / run.model.file, run.model.sha256)
    frame = pd.read_parquet(small_flights)
    found = model.predict_proba(frame.loc[frame["month"] > 9, list(TASK.features)])[:, 1]
    recorded = pq.read_table(folder / run.predictions.file)["probability"].to_numpy()
    # scikit-learn works in float64 where we did in float32.
    np.testing.assert_allclose(found, recorded, atol=1e-5)


@pytest.mark.parametrize("index", range(len(SPECS)))
def test_the_saved_model_is_the_one_that_ran(
    folder: Path, record: RunRecord, small_flights: Path, index: int
) -> None:
    run = record.pipelines[index]
    model = load(folder / f"{run.pipeline}.model", "cpu")
    frame = pd.read_parquet(small_flights)
    found = model.predict_proba(frame.loc[frame["month"] > 9, list(TASK.features)])[:, 1]
    recorded = pq.read_table(folder / run.predictions.file)["probability"].to_numpy()
    np.testing.assert_allclose(found, recorded, rtol=1e-12)
    described, _ = manifest.read(folder / f"{run.pipeline}.model")
    assert described.metrics == run.metrics
    assert described.data_sha256 == record.data.sha256
    assert described.estimator == run.code
    assert {learnt.rows for learnt in model.profile_.values()} == {run.rows_train}


def test_the_models_need_scikit_learn_and_not_us(
    folder: Path, record: RunRecord, small_flights: Path, tmp_path: Path
) -> None:
    models = [str(folder / run.model.file) for run in record.pipelines]
    arguments = [models, str(small_flights), files.TRUSTED, list(TASK.features)]
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, msgspec.json.encode(arguments).decode()],
        capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tables = [pq.read_table(folder / run.predictions.file) for run in record.pipelines]
    recorded = [table["probability"].to_pylist() for table in tables]
    np.testing.assert_allclose(msgspec.json.decode(done.stdout), recorded, atol=1e-5)


def test_it_says_as_many_lines_as_it_promised(folder: Path, batch: Batch) -> None:
    lines = (folder / "lines.txt").read_text().splitlines()
    assert len(lines) == batch.steps == 2 * len(SPECS)
    assert all(any(line.startswith(f"{pipeline}: ") for pipeline in SPECS) for line in lines)


def test_changed_parameters_reach_the_model_and_the_record(batch: Batch, tmp_path: Path) -> None:
    job = replace(batch.job, seed=3, split="random", changes={"xgbclassifier__n_estimators": 2})
    record = Batch(TASK, job, ["boosting"]).run(tmp_path, print)
    run = record.pipelines[0]
    model = files.load(tmp_path / run.model.file, run.model.sha256)
    assert model[-1].get_booster().num_boosted_rounds() == 2
    assert "n_estimators=2" in run.code
    assert "random_state=3" in run.code
    assert (record.split, record.seed) == ("random", 3)


def test_a_change_that_fits_no_spec_is_an_error(batch: Batch, tmp_path: Path) -> None:
    job = replace(batch.job, changes={"xgbclassifier__n_estimator": 2})
    with pytest.raises(ConfigError, match="did you mean 'xgbclassifier__n_estimators'"):
        Batch(TASK, job, ["boosting"]).run(tmp_path, print)


def test_a_record_with_an_unknown_field_is_refused(folder: Path) -> None:
    data = msgspec.json.decode((folder / "record.json").read_bytes())
    with pytest.raises(msgspec.ValidationError, match="comment"):
        msgspec.convert(data | {"comment": "mine"}, RunRecord)
