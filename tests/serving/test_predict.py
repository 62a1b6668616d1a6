from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from pipeline import Accelerated, scan
from pipeline.errors import ConfigError, DataError, OutputLocked
from pipeline.serving.load import load
from pipeline.serving.predict import SCHEMA, PredictionJob, Record, batches, predict_file
from pipeline.serving.save import save
from tests import programs
from tests.commands import ROOT, call

TABLE, Y = programs.TABLE, programs.NUMBERS


class Ended(Exception):
    """The end of a run, from outside."""


def quiet(text: str) -> None:
    """Say nothing."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    estimator = programs.program(XGBClassifier(n_estimators=3))
    fitted = Accelerated(estimator, device="cpu", profile=True).fit(TABLE, Y)
    return save(fitted, tmp_path_factory.mktemp("m") / "model")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    TABLE.to_parquet(path)
    return path


def wanted(model: Path, X: pd.DataFrame = TABLE) -> np.ndarray:
    return load(model, "cpu").predict_proba(X)[:, 1]


@pytest.mark.parametrize("rows", [70, len(TABLE) - 1, len(TABLE), 10**6])
def test_batches_of_any_size_give_what_one_call_gives(
    model: Path, table: Path, tmp_path: Path, rows: int
) -> None:
    record = predict_file(
        PredictionJob(model, table, tmp_path / "out.parquet", "cpu", rows=rows), quiet
    )
    made = pd.read_parquet(tmp_path / "out.parquet")
    assert list(made) == ["probability"]
    np.testing.assert_array_equal(made["probability"], wanted(model))
    assert (record.rows, record.batches) == (len(TABLE), -(-len(TABLE) // rows))
    assert {path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")} == {
        "in.parquet",
        "out.parquet",
        "out.parquet.record.json",
    }


def test_csv_and_parquet_give_the_same(model: Path, table: Path, tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "in.csv", index=False)
    for source in (table, tmp_path / "in.csv"):
        predict_file(
            PredictionJob(model, source, tmp_path / f"{source.suffix[1:]}.out", "cpu", rows=90),
            quiet,
        )
    a, b = (pd.read_parquet(tmp_path / f"{each}.out") for each in ("parquet", "csv"))
    pd.testing.assert_frame_equal(a, b)


@pytest.mark.parametrize("name", [None, "id"])
def test_index_order_and_kept_columns_are_those_of_the_input(
    model: Path, tmp_path: Path, name: str | None
) -> None:
    chance = np.random.default_rng(0)
    X = TABLE.assign(more=range(len(TABLE))).sample(frac=1, random_state=0)
    X.index = pd.Index([f"row {i}" for i in chance.permutation(len(X))], name=name)
    X.to_parquet(tmp_path / "in.parquet")
    job = PredictionJob(
        model, tmp_path / "in.parquet", tmp_path / "out", "cpu", keep=["more"], rows=70
    )
    record = predict_file(job, quiet)
    made = pd.read_parquet(tmp_path / "out")
    assert list(made) == ["more", "probability"]
    pd.testing.assert_index_equal(made.index, X.index)
    np.testing.assert_array_equal(made["more"], X["more"])
    np.testing.assert_array_equal(made["probability"], wanted(model, X.drop(columns="more")))
    assert record.not_read == []


def ending(after: int) -> Any:
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if len(said) == after:
            raise Ended

    return say


def test_an_ended_run_goes_on_after_its_last_batch(
    model: Path, table: Path, tmp_path: Path
) -> None:
    job = PredictionJob(model, table, tmp_path / "out", "cpu", rows=40)
    with pytest.raises(Ended):
        predict_file(job, ending(3))
    assert not (tmp_path / "out").exists()
    record = predict_file(job, quiet)
    assert (record.batches_before, record.batches) == (3, len(TABLE) // 40)
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "out")["probability"], wanted(model))
    whole = predict_file(job, quiet)
    assert whole.batches_before == 0
    assert [c.psi for c in record.columns] == [c.psi for c in whole.columns]


def test_other_work_begins_anew(model: Path, table: Path, tmp_path: Path) -> None:
    with pytest.raises(Ended):
        predict_file(PredictionJob(model, table, tmp_path / "out", "cpu", rows=80), ending(2))
    other = PredictionJob(model, table, tmp_path / "out", "cpu", rows=80, method="predict")
    assert predict_file(other, quiet).batches_before == 0
    assert list(pd.read_parquet(tmp_path / "out")) == ["prediction"]


@pytest.mark.slow
def test_a_killed_run_leaves_the_old_predictions_and_can_go_on(model: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "in.parquet", tmp_path / "out"
    pd.concat([TABLE] * 60).reset_index(drop=True).to_parquet(source)
    target.write_text("old")
    command = [sys.executable, "-m", "pipeline", "predict", model, source, target]
    options = ["--rows", "50", "--device", "cpu"]
    process = subprocess.Popen([*map(str, command), *options], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(5):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert target.read_text() == "old"
    record = predict_file(PredictionJob(model, source, target, "cpu", rows=50), quiet)
    assert 5 <= record.batches_before < record.batches
    assert pq.read_metadata(target).num_rows == 60 * len(TABLE)


def test_one_writer_at_a_time(model: Path, table: Path, tmp_path: Path) -> None:
    with (tmp_path / ".out.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(OutputLocked):
            predict_file(PredictionJob(model, table, tmp_path / "out", "cpu"), quiet)


def test_the_record_is_in_the_file_and_beside_it(model: Path, table: Path, tmp_path: Path) -> None:
    record = predict_file(PredictionJob(model, table, tmp_path / "out", "cpu"), quiet)
    inside = pq.read_schema(tmp_path / "out").metadata[SCHEMA.encode()]
    assert inside == (tmp_path / "out.record.json").read_bytes()
    assert msgspec.json.decode(inside, type=Record) == record
    assert record.classes == ["0", "1"]
    assert {each.name: each.psi for each in record.columns} == dict.fromkeys(TABLE, 0.0)


def test_the_record_says_what_was_not_there_at_fit(model: Path, tmp_path: Path) -> None:
    X = TABLE.assign(c1=["new"] * 3 + TABLE["c1"].tolist()[3:], n2=TABLE["n2"] + 100, more=1)
    X["c2"] = None
    X.to_parquet(tmp_path / "in.parquet")
    job = PredictionJob(model, tmp_path / "in.parquet", tmp_path / "out", "cpu", rows=110)
    record = predict_file(replace(job, allow_empty=["c2"]), quiet)
    found = {each.name: each for each in record.columns}
    assert (found["c1"].unseen, found["c1"].examples) == (3, ["new"])
    assert found["n2"].above == len(TABLE)
    assert found["n2"].psi > 0.25
    assert found["c2"].missing == 1.0
    assert record.not_read == ["more"]
    assert record.casts == ["c2: float64 became str"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n2": "x"}, r"in\.parquet: column 'n2' holds text, such as 'x' in row 0"),
        ({"n2": np.inf}, r"column 'n2' holds infinite values"),
        ({"c1": None}, r"the column 'c1' has no value in any of 240 rows, and 0% were"),
    ],
)
def test_bad_columns_are_named(
    model: Path, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    TABLE.assign(**change).to_parquet(tmp_path / "in.parquet")
    job = PredictionJob(model, tmp_path / "in.parquet", tmp_path / "out", "cpu", rows=10)
    with pytest.raises(DataError, match=says):
        predict_file(job, quiet)
    assert not (tmp_path / "out").exists()


def test_inputs_that_cannot_be_read_are_told(model: Path, table: Path, tmp_path: Path) -> None:
    def refused(source: Path, says: str, kind: type[Exception] = DataError, **more: Any) -> None:
        with pytest.raises(kind, match=says):
            predict_file(PredictionJob(model, source, tmp_path / "out", "cpu", **more), quiet)

    refused(tmp_path / "gone", "gone: no such file")
    refused(table, "has no columns", ConfigError, keep=["zz"])
    refused(table, "the model has no 'transform'; there are predict_proba", ConfigError,
            method="transform")  # fmt: skip
    TABLE.drop(columns="c1").to_parquet(tmp_path / "less.parquet")
    refused(tmp_path / "less.parquet", r"lacks the columns \['c1'\]")
    damaged = tmp_path / "damaged.parquet"
    data = bytearray(table.read_bytes())
    data[len(data) // 8] ^= 0xFF
    damaged.write_bytes(data[:-9])
    refused(damaged, r"damaged\.parquet: cannot be read")
    bad = tmp_path / "bad.csv"
    TABLE.assign(n2="x").to_csv(bad, index=False)
    refused(bad, r"bad\.csv: column 'n2' holds 'x' in row 0, and the model was fitted on numbers")
    TABLE.head(0).to_parquet(tmp_path / "empty.parquet")
    refused(tmp_path / "empty.parquet", "has no rows")


def fitted(estimator: Any, X: Any, y: Any, folder: Path) -> Path:
    return save(Accelerated(estimator, device="cpu").fit(X, y), folder / "model")


def test_models_of_texts_matrices_and_tables(tmp_path: Path) -> None:
    texts = ["red apple", "green pear"] * 4
    path = fitted(make_pipeline(TfidfVectorizer(), Ridge()), texts, np.arange(8.0), tmp_path)
    pd.DataFrame({"t": texts}).to_csv(tmp_path / "in.csv", index=False)
    predict_file(PredictionJob(path, tmp_path / "in.csv", tmp_path / "out", "cpu", rows=3), quiet)
    np.testing.assert_allclose(
        pd.read_parquet(tmp_path / "out")["prediction"], load(path, "cpu").predict(texts)
    )
    X = np.random.default_rng(0).normal(size=(9, 2))
    path = fitted(LogisticRegression(), X, np.arange(9) % 3, tmp_path)
    pd.DataFrame(X, columns=["a", "b"]).to_parquet(tmp_path / "in.parquet")
    predict_file(
        PredictionJob(path, tmp_path / "in.parquet", tmp_path / "out", "cpu", rows=4), quiet
    )
    made = pd.read_parquet(tmp_path / "out")
    assert list(made) == ["probability_0", "probability_1", "probability_2"]
    np.testing.assert_allclose(made.to_numpy(), load(path, "cpu").predict_proba(X))
    estimator = make_column_transformer((SimpleImputer(), ["n1"]), (OneHotEncoder(), ["c1"]))
    path = fitted(estimator, TABLE, None, tmp_path)
    TABLE.to_parquet(tmp_path / "in.parquet")
    predict_file(
        PredictionJob(path, tmp_path / "in.parquet", tmp_path / "out", "cpu", rows=70), quiet
    )
    made = pd.read_parquet(tmp_path / "out")
    assert list(made) == load(path, "cpu").get_feature_names_out().tolist()


def test_the_command_says_what_it_did(model: Path, table: Path, tmp_path: Path) -> None:
    code, out, err = call("predict", model, table, tmp_path / "out", "--rows", 30, "--device",
                          "cpu", "--copy-columns", "c1, c2", "--method", "predict")  # fmt: skip
    assert (code, err) == (0, "")
    assert f"30 rows of {len(TABLE)}" in out
    assert f"predictions: {tmp_path / 'out'} ({len(TABLE)} rows" in out
    assert list(pd.read_parquet(tmp_path / "out")) == ["c1", "c2", "prediction"]
    assert call("predict", tmp_path / "none", table, tmp_path / "o").code == 65
    assert json.loads((tmp_path / "out.record.json").read_text())["method"] == "predict"


def test_the_number_of_batches_is_known_for_parquet_alone(table: Path, tmp_path: Path) -> None:
    csv = tmp_path / "in.csv"
    TABLE.to_csv(csv, index=False)
    assert batches(PredictionJob(tmp_path, table, tmp_path, rows=len(TABLE) - 1)) == 2
    assert batches(PredictionJob(tmp_path, csv, tmp_path)) == 0


def test_a_full_disk_is_told(model: Path, table: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        target = Path("/proc/out")  # no file can be made there
    else:
        target = tmp_path / "folder" / "out"
        target.parent.mkdir(mode=0o500)
    assert call("predict", model, table, target, "--device", "cpu").code == 73


def test_columns_of_one_name_are_refused(model: Path, tmp_path: Path) -> None:
    table = pa.Table.from_pandas(TABLE)
    pq.write_table(table.append_column("c1", table["c1"]), tmp_path / "in.parquet")
    with pytest.raises(DataError, match=r"same name: \['c1'\]"):
        predict_file(PredictionJob(model, tmp_path / "in.parquet", tmp_path / "out", "cpu"), quiet)


def test_a_model_of_partitions_reads_columns_as_they_were_at_fit(tmp_path: Path) -> None:
    pytest.importorskip("dask.dataframe")
    (tmp_path / "fit.csv").write_text("code,y\n" + "007,0\nA1,1\n01,0\n" * 30)
    X, y = scan(tmp_path / "fit.csv", ["code"], "y", partition_bytes=200)
    encoder = OneHotEncoder(handle_unknown="ignore")
    path = fitted(make_pipeline(encoder, LogisticRegression()), X, y, tmp_path)
    (tmp_path / "in.csv").write_text("more,code\n" + "x,007\ny,01\n" * 9)
    record = predict_file(
        PredictionJob(path, tmp_path / "in.csv", tmp_path / "out", "cpu", rows=7), quiet
    )
    found = pd.read_parquet(tmp_path / "out")["probability"]
    texts = pd.DataFrame({"code": ["007", "01"] * 9})
    np.testing.assert_array_equal(found, load(path, "cpu").predict_proba(texts)[:, 1])
    assert record.not_read == ["more"]
