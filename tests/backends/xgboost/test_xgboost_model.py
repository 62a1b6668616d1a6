from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated
from pipeline.backends.xgboost import xgboost_model as xgboost_estimator
from pipeline.backends.xgboost.xgboost_model import XGBoostModel, find_bad_params
from pipeline.errors import DataError, DeviceUnavailable

ROWS = 200


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=ROWS), "c": rng.choice(list("abc"), ROWS)})
    X.loc[::6, "n"] = np.nan
    return X


@pytest.fixture
def labels(table: pd.DataFrame) -> np.ndarray:
    return ((table["c"] == "b") | (table["n"] > 0.5)).to_numpy().astype(int)


def native(**params: Any) -> XGBClassifier:
    return XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, enable_categorical=True, **params)


def fitted(X: Any, labels: np.ndarray, **params: Any) -> XGBoostModel:
    model = XGBoostModel(native(**params), "cpu")
    model.fit(X, labels)
    return model


def test_text_of_a_frame_is_categorical(table: pd.DataFrame, labels: np.ndarray) -> None:
    """Alone, "c" would be the first category of its frame, and "a" of another."""
    model, typed = fitted(table, labels), table.astype({"c": "category"})
    answers = model.call("predict_proba", table)
    np.testing.assert_array_equal(answers, native().fit(typed, labels).predict_proba(typed))
    for value in "abc":
        rows = (table["c"] == value).to_numpy()
        np.testing.assert_array_equal(model.call("predict_proba", table[rows]), answers[rows])
    np.testing.assert_array_equal(model.call("predict_proba", table[:1])[0], answers[0])
    with pytest.raises(
        DataError, match="category not in the training set.*`new`; clean the column"
    ):
        model.call("predict", table.assign(c="new"))


def test_text_of_rows_to_predict_may_be_missing_all_of_it(
    table: pd.DataFrame, labels: np.ndarray
) -> None:
    table.loc[::5, "c"] = None
    typed, rows = table.astype({"c": "category"}), slice(0, None, 5)
    given = {"eval_set": [(table[rows], labels[rows])], "verbose": False}
    wanted = {"eval_set": [(typed[rows], labels[rows])], "verbose": False}
    model = Accelerated(native(), device="cpu").fit(table, labels, **given)
    plain = native().fit(typed, labels, **wanted)
    assert model.to_sklearn().evals_result_ == plain.evals_result_
    answers = model.predict_proba(table[rows])
    np.testing.assert_array_equal(answers, plain.predict_proba(typed[rows]))
    found, whole = (model.contributions(each).values for each in (table[rows], table))
    np.testing.assert_array_equal(found, whole[rows])
    with pytest.raises(DataError, match=r"columns \['c'\] have no values to learn from"):
        Accelerated(native(), device="cpu").fit(table[rows], labels[rows])


def test_hand_over_predicts_alike_and_has_the_parameters_of_the_users(
    table: pd.DataFrame, labels: np.ndarray
) -> None:
    model = fitted(table, labels, device="cuda:3")
    plain = pickle.loads(pickle.dumps(model.to_sklearn()))
    assert type(plain) is XGBClassifier
    assert plain.device == "cuda:3"
    plain.set_params(device="cpu")
    typed = table.astype({"c": "category"})
    np.testing.assert_array_equal(plain.predict(typed), model.call("predict", table))
    assert plain.classes_.tolist() == [0, 1]
    for X in (table, table[["n"]].to_numpy()):
        found = fitted(X, labels).to_sklearn().get_params()
        wanted = native().get_params()
        assert {
            name: found[name] for name in wanted if repr(found[name]) != repr(wanted[name])
        } == {}


class Elsewhere:
    """A booster, and its estimator, that says where it ran."""

    def __init__(self, device: str) -> None:
        self.device = device

    def fit(self, X: Any, y: Any) -> None:
        pass

    def get_booster(self) -> Elsewhere:
        return self

    def save_config(self) -> str:
        return f'{{"learner": {{"generic_param": {{"device": "{self.device}"}}}}}}'


@pytest.mark.parametrize("device", ["cpu", "sycl", "cuda:1"])
@pytest.mark.parametrize("parted", [False, True], ids=["rows", "partitions"])
def test_training_elsewhere_is_an_error(
    device: str, parted: bool, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    da = pytest.importorskip("dask.array")
    booster = Elsewhere(device)
    monkeypatch.setattr(xgboost_estimator.external_memory, "train_from_disk", lambda *_: booster)
    monkeypatch.setattr(XGBoostModel, "_copy_with", lambda self, booster: XGBClassifier())
    model = XGBoostModel(XGBClassifier(), "cuda")
    model.native = XGBClassifier() if parted else booster
    X = da.zeros((ROWS, 1), chunks=(50, 1)) if parted else np.zeros((ROWS, 1))
    if device.startswith("cuda"):  # any GPU is the GPU
        return model.fit(X, labels)
    with pytest.raises(DeviceUnavailable, match=f"trained on '{device}' instead of 'cuda'"):
        model.fit(X, labels)
    return None


@pytest.mark.parametrize(
    ("params", "unknown"),
    [
        ({}, []),
        ({"max_depth": 3}, []),
        ({"nthread": 1, "eta": 0.1}, []),
        ({"max_dpth": 3}, ["max_dpth"]),
        ({"max_dpth": 3, "eta": 0.1, "subsmaple": 0.5}, ["max_dpth", "subsmaple"]),
    ],
    ids=str,
)
def test_keywords_that_xgboost_would_ignore_are_found(
    params: dict[str, Any], unknown: list[str]
) -> None:
    for estimator in (XGBClassifier(**params), XGBRegressor(**params)):
        found = find_bad_params(estimator, "model")
        assert [reason.parameter for reason in found] == unknown
        assert all(reason.why == "XGBoost has no such parameter" for reason in found)
        assert all(reason.step == "model" for reason in found)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"max_depth": -3}, "max_depth"),
        ({"objective": "foo"}, "foo"),
        ({"subsample": 7.0}, "subsample"),
        ({"tree_method": "gpu_hist"}, "gpu_hist"),
        ({"objective": "reg:quantileerror", "quantile_alpha": [0.1, 1.9]}, "range [0.0, 1.0]"),
        ({"objective": "reg:quantileerror"}, "quantile_alpha"),
        ({"learning_rate": np.float32(-1)}, "learning_rate"),
        ({"max_depth": np.int64(-3)}, "max_depth"),
        ({"eval_metric": ["auc", "acu"]}, "acu"),
        ({"monotone_constraints": "up"}, "up"),
    ],
)
def test_bad_values_are_found_before_training(params: dict, said: str) -> None:
    (reason,) = find_bad_params(XGBClassifier(**params), "boosting")
    assert said in str(reason)
    assert "Stack trace" not in str(reason)


@pytest.mark.parametrize(
    "estimator",
    [
        XGBClassifier(),
        XGBClassifier(objective="multi:softprob", n_estimators=5),
        XGBClassifier(device="cuda", enable_categorical=True, feature_types=["q", "c"]),
        XGBClassifier(
            objective=lambda y_true, guess: (guess, guess), eval_metric=["auc", "logloss"]
        ),
        XGBClassifier(monotone_constraints={"a": 1}, interaction_constraints=[["a", "b"]]),
        XGBClassifier(booster="dart", rate_drop=0.1),
        XGBClassifier(num_class=3, objective="multi:softmax", scale_pos_weight=3, missing=-1),
        XGBClassifier(objective=None),
        XGBClassifier(eval_metric=["auc", lambda y_true, guess: 0.0]),
        XGBRegressor(objective="reg:quantileerror", quantile_alpha=0.5),
        XGBRegressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.9]),
        XGBRegressor(objective="reg:quantileerror", quantile_alpha=np.array([0.1, 0.9])),
        XGBRegressor(base_score=np.array([0.5, 0.5])),
        XGBRegressor(base_score=[0.5, 0.5]),
        XGBRegressor(monotone_constraints=np.array([1, 0])),
        XGBRegressor(monotone_constraints=(1, 0), interaction_constraints="[[0, 1]]"),
        XGBRegressor(booster="gblinear", max_depth=3),
        XGBRegressor(max_depth=np.int64(3), subsample=np.float32(0.5)),
        XGBRegressor(random_state=np.random.RandomState(0)),
    ],
)
def test_good_values_pass(estimator: XGBClassifier) -> None:
    assert find_bad_params(estimator, "boosting") == []


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((ROWS, 2), 1e39), "Input data contains `inf` or a value too large"),
        (pd.DataFrame({"a": np.full(ROWS, np.inf)}), "Input data contains `inf`"),
    ],
)
def test_what_xgboost_does_not_learn_from_is_named(
    X: Any, message: str, labels: np.ndarray
) -> None:
    with pytest.raises(DataError, match=message):
        fitted(X, labels)


def test_other_errors_are_left_as_they_are(labels: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"y holds \[1, 2\]; pass LabelEncoder"):
        fitted(np.zeros((ROWS, 1)), labels + 1)
    with pytest.raises(ValueError, match="validation dataset for early stopping"):
        fitted(np.zeros((ROWS, 1)), labels, early_stopping_rounds=2)
