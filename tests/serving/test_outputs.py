"""What predictions look like, as any kind of file, beside what the model says of the frame."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import pipeline
from pipeline import Accelerated, predict_file
from pipeline.errors import ConfigError, DataError

CHANCE = np.random.default_rng(0)
X = pd.DataFrame({"length": CHANCE.normal(size=60), "width": CHANCE.normal(size=60)})
SPECIES = np.array(["Adelie", "Chin, strap", 'Gen"too é'])[CHANCE.integers(0, 3, 60)]
KINDS = [".parquet", "", ".csv", ".CSV"]


def saved(estimator: Any, y: Any, folder: Path) -> Accelerated:
    """Return a fitted model, which is saved too."""
    model = Accelerated(estimator, device="cpu").fit(X, y)
    pipeline.save(model, folder / "model")
    return model


def predicted(folder: Path, table: pd.DataFrame = X, kind: str = "", **options: Any) -> Any:
    """Return what is written of a table, as pandas reads it."""
    table.to_parquet(folder / "in.parquet")
    target = folder / f"out{kind}"
    predict_file(folder / "model", folder / "in.parquet", target, device="cpu", **options)
    return read(target)


def read(path: Path) -> pd.DataFrame:
    """Return a file as pandas reads it by its name."""
    if path.suffix.lower() == ".csv":
        return pd.read_csv(path, float_precision="round_trip")
    return pd.read_parquet(path)


@pytest.mark.quick(9)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_holds_the_same(kind: str, tmp_path: Path) -> None:
    model = saved(LogisticRegression(), SPECIES, tmp_path)
    made = predicted(tmp_path, X, kind, rows=17)
    names = [f"probability_{name}" for name in np.unique(SPECIES)]
    assert list(made) == ["row", "prediction", *names]
    assert made["row"].tolist() == list(range(len(X)))
    assert made["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(made[names].to_numpy(), model.predict_proba(X))
    assert json.loads((tmp_path / f"out{kind}.record.json").read_text())["output_columns"] == [
        *made
    ]


LABELS: dict[str, tuple[Any, list[str]]] = {
    "two texts": (["good", "bad"], ["probability_bad", "probability_good"]),
    "0 and 1": ([0, 1], ["probability"]),
    "booleans": ([False, True], ["probability"]),
    "-1 and 1": ([-1, 1], ["probability_-1", "probability_1"]),
    "three numbers": ([3, 5, 9], ["probability_3", "probability_5", "probability_9"]),
    "texts of digits": (["0", "1"], ["probability_0", "probability_1"]),
}


@pytest.mark.parametrize("labels", LABELS)
def test_classes_have_their_names_and_type(labels: str, tmp_path: Path) -> None:
    classes, names = LABELS[labels]
    y = np.resize(np.array(classes), len(X))
    model = saved(LogisticRegression(), y, tmp_path)
    made = predicted(tmp_path)
    assert list(made) == ["row", "prediction", *names]
    assert made["prediction"].tolist() == model.predict(X).tolist()
    assert made["prediction"].dtype == pd.Series(y.tolist()).dtype
    np.testing.assert_array_equal(made[names], model.predict_proba(X)[:, -len(names) :])


def test_a_tie_is_decided_as_the_model_decides_it(tmp_path: Path) -> None:
    boosting = GradientBoostingClassifier(n_estimators=1, learning_rate=1e-300, init="zero")
    model = saved(boosting, X["width"] > 0, tmp_path)
    made = predicted(tmp_path)
    assert set(made["probability"]) == {0.5}
    assert made["prediction"].tolist() == model.predict(X).tolist()
    assert made["prediction"].nunique() == 2


METHODS: dict[str, tuple[Any, Any, str | None, list[str]]] = {
    "regression": (LinearRegression(), X["width"] * 2, None, ["prediction"]),
    "no probabilities": (LinearSVC(), SPECIES, None, ["prediction"]),
    "predict": (LogisticRegression(), SPECIES, "predict", ["prediction"]),
    "decision": (LogisticRegression(), X["width"] > 0, "decision_function", ["decision_function"]),
}


@pytest.mark.parametrize("case", METHODS)
def test_a_method_that_is_named_is_all_that_is_written(case: str, tmp_path: Path) -> None:
    estimator, y, method, names = METHODS[case]
    model = saved(estimator, y, tmp_path)
    made = predicted(tmp_path, method=method)
    assert list(made) == ["row", *names]
    wanted = getattr(model, method or "predict")(X)
    np.testing.assert_array_equal(made[names].to_numpy().squeeze(), wanted)


@pytest.mark.parametrize("named", [True, False])
def test_several_targets_have_their_names(named: bool, tmp_path: Path) -> None:
    y = pd.DataFrame({"price": X["width"] * 2, "area": X["length"] - 1})
    model = saved(LinearRegression(), y if named else y.to_numpy(), tmp_path)
    names = ["prediction_price", "prediction_area"] if named else ["prediction_0", "prediction_1"]
    np.testing.assert_array_equal(predicted(tmp_path)[names], model.predict(X))


COPIED: dict[str, Any] = {
    "text": ["a", 'b,"c"', "tab\tline\nend", "", "é𝄞", "=1+1"],
    "integer": [2**62 + 1, -(2**62), 0, 1, 2, 3],
    "number": [0.1, 1e-300, 1 / 3, np.nan, 1e300, -0.0],
    "boolean": [True, False, None, True, False, True],
    "moment": [datetime.datetime(2024, 2, 29, 1, 2, 3, 4)] * 6,
    "day": [datetime.date(2024, 2, 29), None] * 3,
    "decimal": [Decimal("1.10")] * 6,
    "view": pa.array(["a", "b"] * 3, pa.string_view()),
    "code": pa.array(["a", "b"] * 3).dictionary_encode(),
    "half": np.array([0.5, 1.5, 0, 1, 2, 3], dtype="float16"),
}


def test_columns_that_are_copied_come_back(tmp_path: Path) -> None:
    saved(LinearRegression(), X["width"], tmp_path)
    table = pa.table({**{name: X[name][:6] for name in X}, **COPIED})
    pq.write_table(table, tmp_path / "in.parquet")
    options: Any = {"copy_columns": [*COPIED], "device": "cpu", "rows": 4}
    target = tmp_path / "out.csv"
    predict_file(tmp_path / "model", tmp_path / "in.parquet", target, **options)
    made = read(target)
    assert list(made) == [*COPIED, "prediction"]
    assert made["text"].fillna("").tolist() == COPIED["text"]
    assert made["integer"].tolist() == COPIED["integer"]
    np.testing.assert_array_equal(made["number"].astype(float), COPIED["number"])
    assert pd.to_datetime(made["moment"]).tolist() == COPIED["moment"]
    assert pd.to_datetime(made["day"]).dt.date.tolist()[::2] == COPIED["day"][::2]
    assert made["view"].tolist() == made["code"].tolist() == ["a", "b"] * 3
    assert made["half"].tolist() == COPIED["half"].tolist()
    assert made["decimal"].astype(float).tolist() == [1.1] * 6


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_keys_are_copied_from_csv_as_they_are_written(kind: str, tmp_path: Path) -> None:
    saved(LinearRegression(), X["width"], tmp_path)
    keys = {"code": "007", "sum": "1,234.50", "day": "2024-01-31", "id": str(2**64 + 1)}
    X.assign(**keys).to_csv(tmp_path / "in.csv", index=False)
    target = tmp_path / f"out{kind}"
    predict_file(tmp_path / "model", tmp_path / "in.csv", target, copy_columns=[*keys], rows=50)
    made = pd.read_parquet(target) if kind == ".parquet" else pd.read_csv(target, dtype=str)
    assert made[[*keys]].to_dict("records") == [keys] * 60


REFUSED: dict[str, tuple[dict[str, Any], str, type[Exception]]] = {
    "Excel": ({"kind": ".xlsx"}, r"out\.xlsx: .*\.parquet or \.csv", ConfigError),
    "lists as CSV": (
        {"kind": ".csv", "copy_columns": ["list"]},
        r"'list' holds list<.*>, .*write a \.parquet file",
        ConfigError,
    ),
    "bytes as CSV": (
        {"kind": ".csv", "copy_columns": ["bytes"]},
        "'bytes' holds binary",
        ConfigError,
    ),
    "a copy with the name of the prediction": (
        {"copy_columns": ["prediction"]},
        "two columns .* 'prediction'; rename",
        ConfigError,
    ),
    "a column that is not there": ({"copy_columns": ["no"]}, r"no columns \['no'\]", ConfigError),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written_is_refused(case: str, tmp_path: Path) -> None:
    options, says, error = REFUSED[case]
    saved(LogisticRegression(), np.resize(["a", "b"], 60), tmp_path)
    table = X.assign(prediction=1, probability_b=2, list=[[1]] * 60, bytes=b"")
    with pytest.raises(error, match=says):
        predicted(tmp_path, table, **options)
    assert not list(tmp_path.glob("out*"))


def test_a_script_gets_a_record(tmp_path: Path) -> None:
    model = saved(LogisticRegression(), SPECIES, tmp_path)
    X.to_csv(tmp_path / "in.csv", index=False)
    target = tmp_path / "a <b> file.csv"
    record = pipeline.predict_file(str(tmp_path / "model"), str(tmp_path / "in.csv"), str(target))
    assert (record.output, record.rows) == (str(target), 60)
    with pytest.raises(ConfigError, match=r"pass pipeline\.save\(model, path\)"):
        predict_file(model, tmp_path / "in.csv", target)
    with pytest.raises(DataError, match="no such file"):
        predict_file(tmp_path / "model", tmp_path / "no.csv", target)
