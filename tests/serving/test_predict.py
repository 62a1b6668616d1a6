from __future__ import annotations

import json
import os
import signal
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

from pipeline import Accelerated
from pipeline.errors import ConfigError, DataError
from pipeline.serving.load import load
from pipeline.serving.predict import SCHEMA, PredictionJob, Record, run_job
from pipeline.serving.save import save
from tests import programs
from tests.commands import assert_one_message, call, started

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


class Here:
    """A folder with a table, `in.parquet`, whose predictions go to `out`."""

    def __init__(self, model: Path, folder: Path) -> None:
        self.model, self.folder = model, folder
        self.source, self.target = folder / "in.parquet", folder / "out"
        TABLE.to_parquet(self.source)

    def job(self, X: pd.DataFrame | None = None, **options: Any) -> PredictionJob:
        """Return a job for the table, or for another one that takes its place."""
        if X is not None:
            X.to_parquet(self.source)
        return replace(PredictionJob(self.model, self.source, self.target, "cpu"), **options)

    def predict(self, X: pd.DataFrame | None = None, **options: Any) -> Record:
        return run_job(self.job(X, **options), quiet)

    def made(self) -> pd.DataFrame:
        return pd.read_parquet(self.target)

    def wanted(self, X: Any = TABLE, method: str = "predict_proba") -> np.ndarray:
        """Return what the model says in one call."""
        return getattr(load(self.model, "cpu"), method)(X)


@pytest.fixture
def here(model: Path, tmp_path: Path) -> Here:
    return Here(model, tmp_path)


@pytest.mark.quick(3)
@pytest.mark.parametrize("rows", [70, len(TABLE) - 1, len(TABLE), 10**6])
def test_batches_of_any_size_give_what_one_call_gives(here: Here, rows: int) -> None:
    record = here.predict(rows=rows)
    assert list(here.made()) == ["row", "prediction", "probability"]
    assert here.made()["row"].tolist() == list(range(len(TABLE)))
    np.testing.assert_array_equal(here.made()["prediction"], here.wanted(method="predict"))
    np.testing.assert_array_equal(here.made()["probability"], here.wanted()[:, 1])
    assert (record.rows, record.batches) == (len(TABLE), -(-len(TABLE) // rows))
    names = {path.name for path in here.folder.iterdir()}
    assert names == {"in.parquet", "out", "out.record.json"}


@pytest.mark.parametrize("name", [None, "id"])
def test_index_order_and_kept_columns_are_those_of_the_input(here: Here, name: str | None) -> None:
    chance = np.random.default_rng(0)
    X = TABLE.assign(more=range(len(TABLE))).sample(frac=1, random_state=0)
    X.index = pd.Index([f"row {i}" for i in chance.permutation(len(X))], name=name)
    record = here.predict(X, keep=["more"], rows=70)
    made = here.made()
    assert list(made) == [name or "index", "more", "prediction", "probability"]
    assert made[name or "index"].tolist() == X.index.tolist()
    np.testing.assert_array_equal(made["more"], X["more"])
    np.testing.assert_array_equal(made["probability"], here.wanted(X.drop(columns="more"))[:, 1])
    assert record.not_read == []


def test_a_run_that_ends_early_leaves_the_old_predictions(here: Here) -> None:
    here.target.write_text("old")

    def say(text: str) -> None:
        raise Ended

    with pytest.raises(Ended):
        run_job(here.job(rows=40), say)
    names = {path.name for path in here.folder.iterdir()}
    assert (here.target.read_text(), names) == ("old", {"in.parquet", "out"})


def test_predictions_never_lie_beside_the_record_of_others(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.predict()

    def end(path: Path, target: Path) -> Path:
        if target.name == "out.record.json":
            raise Ended
        return replace_(path, target)

    replace_ = Path.replace
    monkeypatch.setattr(Path, "replace", end)
    with pytest.raises(Ended):
        here.predict(method="predict")
    assert list(here.made()) == ["row", "prediction"]
    assert not (here.folder / "out.record.json").exists()


@pytest.mark.slow
def test_a_killed_run_leaves_the_old_predictions_and_the_next_makes_all(
    model: Path, tmp_path: Path
) -> None:
    source, target = tmp_path / "in.parquet", tmp_path / "out"
    pd.concat([TABLE] * 60).reset_index(drop=True).to_parquet(source)
    target.write_text("old")
    with started("-m", "pipeline", "predict", model, source, target,
                 "--rows", "50", "--device", "cpu") as process:  # fmt: skip
        assert process.stdout is not None
        for _ in range(5):
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert target.read_text() == "old"
    run_job(PredictionJob(model, source, target, "cpu", rows=50), quiet)
    assert pq.read_metadata(target).num_rows == 60 * len(TABLE)
    assert not (tmp_path / ".out.draft").exists()


def test_the_record_is_in_the_file_and_beside_it(here: Here) -> None:
    record = here.predict()
    inside = pq.read_metadata(here.target).metadata[SCHEMA.encode()]
    assert inside == (here.folder / "out.record.json").read_bytes()
    assert msgspec.json.decode(inside, type=Record) == record
    assert record.classes == ["0", "1"]
    assert [each.name for each in record.columns] == list(TABLE)
    assert not any(each.above or each.below or each.unseen for each in record.columns)


def test_the_record_says_what_was_not_there_at_fit(here: Here) -> None:
    X = TABLE.assign(c1=["new"] * 3 + TABLE["c1"].tolist()[3:], n2=TABLE["n2"] + 100, more=1)
    X["c2"] = None
    record = here.predict(X, rows=110)
    found = {each.name: each for each in record.columns}
    assert (found["c1"].unseen, found["c1"].examples) == (3, ["new"])
    assert found["n2"].above == len(TABLE)
    assert found["c2"].without == len(TABLE)
    assert record.not_read == ["more"]
    assert any("'c2': 100% of the rows have no value" in said for said in record.cautions)


@pytest.mark.parametrize(
    ("X", "says"),
    [
        (TABLE.assign(n2="x"), r"in\.parquet: column 'n2' holds text, such as 'x' in row 0"),
        (TABLE.assign(n2=np.inf), r"contains infinity .*\n.*columns \['n2'\]"),
        (TABLE.drop(columns="c1"), r"in\.parquet: lacks the columns \['c1'\].*; it has"),
        (TABLE.head(0), "has no rows"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_table_that_does_not_fit_is_refused(here: Here, X: pd.DataFrame, says: str) -> None:
    with pytest.raises(DataError, match=says):
        here.predict(X, rows=100)
    assert not here.target.exists()


def test_inputs_that_cannot_be_read_are_named(here: Here) -> None:
    def refused(says: str, kind: type[Exception] = DataError, **options: Any) -> None:
        with pytest.raises(kind, match=says):
            here.predict(**options)

    refused("gone: no such file", source=here.folder / "gone")
    refused("has no columns", ConfigError, keep=["zz"])
    refused(
        "the model has no method 'transform'; choose from: predict_proba",
        ConfigError,
        method="transform",
    )
    bad = here.folder / "bad.csv"
    TABLE.assign(n2="x").to_csv(bad, index=False)
    says = r"bad\.csv: column 'n2' holds 'x' in row 0, but the model was fitted on numbers"
    refused(says, source=bad)
    twice = pa.Table.from_pandas(TABLE)
    pq.write_table(twice.append_column("c1", twice["c1"]), here.source)
    refused(r"same name: \['c1'\]")
    here.source.write_bytes(here.source.read_bytes()[:-9])
    refused(r"in\.parquet: cannot be read")


def fitted(estimator: Any, X: Any, y: Any, folder: Path) -> Here:
    return Here(save(Accelerated(estimator, device="cpu").fit(X, y), folder / "model"), folder)


def test_models_of_texts_matrices_and_tables(tmp_path: Path) -> None:
    texts = ["red apple", "green pear"] * 4
    here = fitted(make_pipeline(TfidfVectorizer(), Ridge()), texts, np.arange(8.0), tmp_path)
    pd.DataFrame({"t": texts}).to_csv(tmp_path / "in.csv", index=False)
    here.predict(source=tmp_path / "in.csv", rows=3)
    np.testing.assert_allclose(here.made()["prediction"], here.wanted(texts, "predict"))
    X = np.random.default_rng(0).normal(size=(9, 2))
    here = fitted(LogisticRegression(), X, np.arange(9) % 3, tmp_path)
    here.predict(pd.DataFrame(X, columns=["a", "b"]), rows=4)
    made = here.made()
    probabilities = ["probability_0", "probability_1", "probability_2"]
    assert list(made) == ["row", "prediction", *probabilities]
    np.testing.assert_allclose(made[probabilities], here.wanted(X))
    estimator = make_column_transformer((SimpleImputer(), ["n1"]), (OneHotEncoder(), ["c1"]))
    here = fitted(estimator, TABLE, None, tmp_path)
    here.predict(rows=70)
    names = load(here.model, "cpu").get_feature_names_out().tolist()
    assert list(here.made()) == ["row", *names]


def test_the_command_says_what_it_did(here: Here, tmp_path: Path) -> None:
    code, out, err = call("predict", here.model, here.source, here.target, "--rows", 30, "--device",
                          "cpu", "--copy-columns", "c1, c2", "--method", "predict")  # fmt: skip
    assert (code, err) == (0, "")
    assert f"30 rows of {len(TABLE)}" in out
    assert f"predictions: {here.target} ({len(TABLE)} rows" in out
    assert list(here.made()) == ["c1", "c2", "prediction"]
    assert json.loads((tmp_path / "out.record.json").read_text())["method"] == "predict"
    assert call("predict", tmp_path / "none", here.source, tmp_path / "o").code == 65
    target = tmp_path / "missing" / "folder" / "out.csv"
    done = call("predict", here.model, here.source, target, "--device", "cpu")
    assert_one_message(done, 73, f"the folder {target.parent} does not exist; create it")
    assert not target.parent.parent.exists()
    if os.geteuid() == 0:
        target = Path("/proc/out")  # no file can be made there
    else:
        target = tmp_path / "folder" / "out"
        target.parent.mkdir(mode=0o500)
    assert call("predict", here.model, here.source, target, "--device", "cpu").code == 73
