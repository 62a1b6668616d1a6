from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, FastICA
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, explain
from pipeline.backends.base import HostModel
from pipeline.backends.gpu_rules import RULES
from pipeline.compile.lower import LoweringOptions, lower
from pipeline.errors import ConfigError, Unsupported

OURS = {"cpu": "pipeline (NumPy)", "cuda": "pipeline (CuPy)"}


def preprocessing(encoder: Any = None) -> Any:
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["n"]),
        (encoder or OneHotEncoder(), ["c"]),
        ("drop", ["d"]),
        remainder="passthrough",
    )


def program(model: Any = None) -> Pipeline:
    return make_pipeline(preprocessing(), model or LogisticRegression())


def rows(estimator: Any, device: str) -> list[tuple[str, str, str]]:
    return [(p.step, p.device, p.implementation) for p in explain(estimator, device).placements]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_inner_step_has_its_place(device: str) -> None:
    found = rows(program(XGBClassifier()), device)
    ours = [(step, place, how) for step, place, how in found if how == OURS[device]]
    assert [step.removeprefix("columntransformer.") for step, _, _ in ours] == [
        "pipeline.simpleimputer",
        "pipeline.standardscaler",
        "onehotencoder",
        "remainder",
    ]
    assert found[-1] == ("xgbclassifier", device, "xgboost.XGBClassifier")


@pytest.mark.parametrize(
    ("estimator", "step", "why"),
    [
        (
            RandomTreesEmbedding(),
            "randomtreesembedding",
            "this package does not implement RandomTreesEmbedding yet",
        ),
        (
            SimpleImputer(missing_values=-1),
            "simpleimputer",
            "missing_values: missing_values=-1 is not supported yet",
        ),
    ],
)
def test_on_the_cpu_a_transformer_without_a_twin_runs_as_it_is(
    estimator: Any, step: str, why: str
) -> None:
    placed = explain(make_pipeline(estimator, LogisticRegression()), "cpu").placements[0]
    assert placed.implementation == f"sklearn.{type(estimator).__name__}"
    assert (placed.step, placed.device, placed.note) == (step, "cpu", f"run by scikit-learn: {why}")
    plan = lower(make_pipeline(estimator, LogisticRegression()), "cpu")
    assert isinstance(plan.steps[0].worker, HostModel)
    assert plan.placements[0] == placed


def test_on_cuda_all_reasons_come_at_once() -> None:
    estimator = make_pipeline(
        preprocessing(SimpleImputer(missing_values=-1, strategy=np.max)),
        FastICA(),
        HistGradientBoostingClassifier(),
    )
    with pytest.raises(Unsupported) as caught:
        lower(estimator, "cuda")
    assert [(r.step.rpartition(".")[2], r.parameter) for r in caught.value.reasons] == [
        ("simpleimputer", "missing_values"),
        ("simpleimputer", "strategy"),
        ("fastica", None),
        ("histgradientboostingclassifier", None),
    ]
    assert caught.value.exit_code == 2


def test_fallback_runs_what_the_gpu_cannot_on_the_host_and_says_so() -> None:
    plan = lower(
        make_pipeline(StandardScaler(), FastICA(), XGBClassifier()),
        "cuda",
        LoweringOptions(fallback=True),
    )
    assert [(p.step, p.device) for p in plan.placements] == [
        ("standardscaler", "cuda"),
        ("fastica", "cpu"),
        ("xgbclassifier", "cuda"),
    ]
    assert plan.placements[1].note == "on the host: FastICA is not supported on the GPU"
    assert plan.steps[-1].on_host is not None
    assert lower(XGBClassifier(), "cuda").steps[-1].on_host is None
    assert lower(StandardScaler(), "cuda").steps[0].on_host is None
    assert lower(StandardScaler(), "cpu", LoweringOptions(fallback=True)).steps[0].on_host is None


class OwnScaler(StandardScaler):
    pass


class OwnPipeline(Pipeline):
    pass


def test_subclasses_are_not_taken_for_what_they_inherit_from() -> None:
    scaler = explain(make_pipeline(OwnScaler(), LogisticRegression()), "cpu").placements[0]
    assert scaler.note == "run by scikit-learn: this package does not implement OwnScaler yet"
    whole = lower(OwnPipeline([("s", StandardScaler()), ("m", LogisticRegression())]), "cpu")
    assert [p.implementation.rpartition(".")[2] for p in whole.placements] == ["OwnPipeline"]
    with pytest.raises(Unsupported, match="does not implement OwnScaler yet"):
        lower(make_pipeline(OwnScaler(), XGBClassifier()), "cuda")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (program(LogisticRegression(C=-1)), "^logisticregression: The 'C' parameter of Logistic"),
        (make_pipeline(SimpleImputer(strategy="avg")), "^simpleimputer: The 'strategy' parameter"),
        (preprocessing(OneHotEncoder(handle_unknown="x")), r"onehotencoder: The 'handle_unknown'"),
        (RandomForestClassifier(n_estimators=0), "^randomforestclassifier: The 'n_estimators'"),
        (make_pipeline("typo", LogisticRegression()), "^typo: 'typo' is not a scikit-learn"),
        (LogisticRegression, "Expected an estimator instance"),
        (None, "is not a scikit-learn estimator"),
        (make_pipeline(StandardScaler(), object()), "^object: .* is not a scikit-learn estimator"),
        (Pipeline([("a", "passthrough")]), "no step"),
        (Pipeline([("a", StandardScaler()), ("a", LogisticRegression())]), "not unique"),
        (
            program(XGBClassifier(max_dpth=3)),
            r"xgbclassifier\(max_dpth\): XGBoost has no such",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_bad_parameters_are_refused_before_any_data(
    estimator: Any, message: str, device: str
) -> None:
    for ask in (lower, explain):
        with pytest.raises((ConfigError, Unsupported), match=message):
            ask(estimator, device)
    with pytest.raises(ConfigError, match="unknown device 'tpu'"):
        explain(estimator, "tpu")


def test_meta_estimators_between_steps_learn_in_float64() -> None:
    inner = LogisticRegression()
    whole = make_pipeline(SelectFromModel(inner), BaggingClassifier(inner))
    plan = lower(whole, "cuda")
    assert [step.worker.dtype for step in plan.steps] == ["float64", "float32"]
    assert LoweringOptions().dtype == "auto"


def test_what_runs_on_a_gpu_can_be_pickled() -> None:
    columns = make_column_transformer((PCA(2), ["a", "b"]), (StandardScaler(), ["c"]))
    (step,) = lower(columns, "cuda", LoweringOptions(fallback=True)).steps
    assert pickle.loads(pickle.dumps(step)).placements == step.placements
    for row in RULES.values():
        assert pickle.loads(pickle.dumps(row)) is row


class Sees(RegressorMixin, BaseEstimator):
    """Remembers how the rows that it learns from lie in memory."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Sees:
        self.by_column_ = not X.flags.c_contiguous
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X))


BY_ROW = np.random.default_rng(0).normal(size=(3000, 3))
TABLES = {
    "frame": pd.DataFrame({name: BY_ROW[:, j].copy() for j, name in enumerate("abc")}),
    "frame of a matrix": pd.DataFrame(BY_ROW, columns=[*"abc"]),
    "matrix": BY_ROW,
    "matrix by column": np.asfortranarray(BY_ROW),
}
LEVELS = make_column_transformer(
    (StandardScaler(), ["a", "b"]), (OneHotEncoder(sparse_output=False), ["c"])
)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("step", [StandardScaler(), PolynomialFeatures(), LEVELS], ids=str)
def test_rows_lie_in_memory_as_those_of_scikit_learn(name: str, step: Any) -> None:
    X, y = TABLES[name], BY_ROW[:, 0]
    if step is LEVELS:
        X = pd.DataFrame(X, columns=[*"abc"]).round({"c": 0})
    plain = make_pipeline(step, Sees()).fit(X, y)[-1]
    ours = Accelerated(make_pipeline(step, Sees()), device="cpu").fit(X, y).to_sklearn()[-1]
    assert ours.by_column_ == plain.by_column_


def test_linear_models_learn_the_same_bits_as_in_scikit_learn() -> None:
    X, y = TABLES["frame"], BY_ROW @ [1.0, 2.0, 3.0]
    steps = make_pipeline(SimpleImputer(), Ridge())
    plain, ours = clone(steps).fit(X, y), Accelerated(steps, device="cpu").fit(X, y)
    assert ours.to_sklearn()[-1].coef_.tolist() == plain[-1].coef_.tolist()
