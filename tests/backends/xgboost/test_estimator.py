from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from xgboost import XGBClassifier, XGBRanker, XGBRegressor

from pipeline import Accelerated, explain
from pipeline.backends.xgboost import estimator as xgboost_estimator
from pipeline.backends.xgboost.estimator import XGBoostModel, find_bad_params
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


def test_text_of_a_frame_is_categorical(table: pd.DataFrame, labels: np.ndarray) -> None:
    model = XGBoostModel(native(), "cpu")
    model.fit(table, labels)
    typed = table.astype({"c": "category"})
    expected = native().fit(typed, labels).predict_proba(typed)
    np.testing.assert_array_equal(model.call("predict_proba", table), expected)


def test_codes_of_new_frames_do_not_matter(table: pd.DataFrame, labels: np.ndarray) -> None:
    """Alone, "c" would be the first category of its frame, and "a" of another."""
    model = XGBoostModel(native(), "cpu")
    model.fit(table, labels)
    batch = model.call("predict_proba", table)
    for value in "abc":
        rows = (table["c"] == value).to_numpy()
        np.testing.assert_array_equal(model.call("predict_proba", table[rows]), batch[rows])
    np.testing.assert_array_equal(model.call("predict_proba", table[:1])[0], batch[0])


def test_hand_over_predicts_alike_and_has_the_device_of_the_spec(
    table: pd.DataFrame, labels: np.ndarray
) -> None:
    estimator = native(device="cuda:3")
    model = XGBoostModel(estimator, "cpu")
    model.fit(table, labels)
    plain = pickle.loads(pickle.dumps(model.to_sklearn()))
    assert type(plain) is XGBClassifier
    assert plain.device == "cuda:3"
    plain.set_params(device="cpu")
    typed = table.astype({"c": "category"})
    np.testing.assert_array_equal(plain.predict(typed), model.call("predict", table))
    assert plain.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["frame", "matrix"])
def test_hand_over_has_the_parameters_of_the_spec(
    kind: str, table: pd.DataFrame, labels: np.ndarray
) -> None:
    model = XGBoostModel(native(), "cpu")
    model.fit(table if kind == "frame" else table[["n"]].to_numpy(), labels)
    found, asked = model.to_sklearn().get_params(), native().get_params()
    assert {name: found[name] for name in asked if repr(found[name]) != repr(asked[name])} == {}


def test_the_types_of_a_matrix_are_honoured(table: pd.DataFrame, labels: np.ndarray) -> None:
    X = np.column_stack([table["n"], table["c"].astype("category").cat.codes]).astype("float32")
    estimator = native(feature_types=["q", "c"])
    model = XGBoostModel(estimator, "cpu")
    model.fit(X, labels)
    expected = clone(estimator).fit(X, labels).predict_proba(X)
    np.testing.assert_array_equal(model.call("predict_proba", X), expected)
    np.testing.assert_array_equal(model.to_sklearn().predict_proba(X), expected)
    assert model.to_sklearn().feature_types == ["q", "c"]


def test_parameters_of_fit_reach_xgboost(table: pd.DataFrame, labels: np.ndarray) -> None:
    X, weights = table[["n"]], np.where(labels == 1, 5.0, 1.0)
    model = XGBoostModel(native(), "cpu")
    model.fit(X, labels, sample_weight=weights)
    expected = native().fit(X, labels, sample_weight=weights).predict_proba(X)
    np.testing.assert_array_equal(model.call("predict_proba", X), expected)
    assert (expected != native().fit(X, labels).predict_proba(X)).any()


class Elsewhere:
    """A booster that tells where it ran."""

    def __init__(self, device: str) -> None:
        self.device = device

    def fit(self, X: Any, y: Any) -> None:
        pass

    def get_booster(self) -> Elsewhere:
        return self

    def save_config(self) -> str:
        return f'{{"learner": {{"generic_param": {{"device": "{self.device}"}}}}}}'


def test_what_was_trained_elsewhere_from_partitions_is_an_error(
    monkeypatch: pytest.MonkeyPatch, labels: np.ndarray
) -> None:
    """The estimator that takes the booster is told the device, so the booster itself is asked."""
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(
        xgboost_estimator.external_memory,
        "train_from_disk",
        lambda *args, **params: Elsewhere("cpu"),
    )
    model = XGBoostModel(XGBClassifier(), "cuda")
    with pytest.raises(DeviceUnavailable, match="'cuda' and trained on 'cpu'"):
        model.fit(da.zeros((ROWS, 1), chunks=(50, 1)), labels)


@pytest.mark.parametrize("device", ["cpu", "sycl"])
def test_training_elsewhere_is_an_error(device: str, labels: np.ndarray) -> None:
    model = XGBoostModel(XGBClassifier(), "cuda")
    model.native = Elsewhere(device)
    with pytest.raises(DeviceUnavailable, match=f"'cuda' and trained on '{device}'"):
        model.fit(np.zeros((ROWS, 1)), labels)


def test_any_gpu_is_the_gpu(labels: np.ndarray) -> None:
    model = XGBoostModel(XGBClassifier(), "cuda")
    model.native = Elsewhere("cuda:1")
    assert model.fit(np.zeros((ROWS, 1)), labels) is None


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


def test_a_misspelt_keyword_is_answered_with_the_right_one() -> None:
    (reason,) = find_bad_params(XGBClassifier(max_dpth=3), "model")
    assert reason.instead == "did you mean 'max_depth'?"


def test_unseen_categories_are_an_error_in_plain_words(
    table: pd.DataFrame, labels: np.ndarray
) -> None:
    model = XGBoostModel(native(), "cpu")
    model.fit(table, labels)
    with pytest.raises(DataError, match="'new'"):
        model.call("predict", table.assign(c="new"))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"max_depth": -3}, "max_depth"),
        ({"objective": "foo"}, "foo"),
        ({"subsample": 7.0}, "subsample"),
        ({"tree_method": "gpu_hist"}, "gpu_hist"),
        ({"n_estimators": 0}, "0 trees"),
        ({"objective": "reg:quantileerror", "quantile_alpha": [0.1, 1.9]}, "range [0.0, 1.0]"),
        ({"objective": "reg:quantileerror"}, "quantile_alpha"),
        ({"learning_rate": np.float32(-1)}, "learning_rate"),
        ({"max_depth": np.int64(-3)}, "max_depth"),
        ({"eval_metric": ["auc", "acu"]}, "acu"),
        ({"monotone_constraints": "up"}, "up"),
        ({"reg_alpha": float("nan")}, "nan"),
        ({"reg_alpha": np.float32("nan")}, "nan"),
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


@pytest.mark.parametrize("alphas", [[0.1, 0.9], np.array([0.1, 0.9])], ids=["list", "array"])
def test_several_quantiles_are_learnt_as_by_xgboost_alone(table: pd.DataFrame, alphas: Any) -> None:
    X, y = table[["n"]].to_numpy(), table["n"].fillna(0).to_numpy()
    estimator = XGBRegressor(n_estimators=3, objective="reg:quantileerror", quantile_alpha=alphas)
    made = Accelerated(estimator, device="cpu").fit(X, y)
    assert str(explain(estimator, device="cuda"))
    np.testing.assert_array_equal(made.predict(X), clone(estimator).fit(X, y).predict(X))


def test_labels_that_xgboost_cannot_take_are_named_with_the_way_out(table: pd.DataFrame) -> None:
    model = XGBoostModel(native(), "cpu")
    with pytest.raises(DataError, match=r"y holds \[1, 2\]; pass LabelEncoder"):
        model.fit(table, np.resize([1, 2], ROWS))


def test_a_ranker_is_judged_on_a_query(table: pd.DataFrame) -> None:
    assert find_bad_params(XGBRanker(objective="rank:ndcg"), "rank") == []
    (found,) = find_bad_params(XGBRanker(objective="rank:ndgc"), "rank")
    assert "rank:ndgc" in found.why


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame({"a[0]": np.arange(ROWS)}), r"names hold \[, \] or <: \['a\[0\]'\]; rename"),
        (np.full((ROWS, 2), 1e39), "column 0 holds numbers that float32 does not reach"),
        (pd.DataFrame({"a": np.full(ROWS, np.inf)}), "column 'a' holds numbers that float32"),
    ],
)
def test_rows_that_xgboost_does_not_learn_from_are_named(
    X: Any, message: str, labels: np.ndarray
) -> None:
    with pytest.raises(DataError, match=message):
        XGBoostModel(native(), "cpu").fit(X, labels)


def test_an_error_that_is_not_of_the_rows_is_left_as_it_is(labels: np.ndarray) -> None:
    with pytest.raises(ValueError, match="validation dataset for early stopping"):
        XGBoostModel(native(early_stopping_rounds=2), "cpu").fit(np.zeros((ROWS, 1)), labels)
