"""What is written to a fitted model is refused where it would not be read."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, PowerTransformer, StandardScaler
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated
from pipeline.errors import ConfigError
from tests.programs import on_cpu

_rng = np.random.default_rng(0)
X = _rng.normal(size=(60, 3))
Y = (X[:, 0] > X[:, 1]).astype(int)
PROGRAMS: dict[str, Any] = {
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "logistic": LogisticRegression(),
    "encoder": OneHotEncoder(handle_unknown="ignore"),
    "power": PowerTransformer(),
    "union": make_union(StandardScaler(), PowerTransformer()),
}


def model_of(name: str) -> Accelerated:
    return on_cpu(copy.deepcopy(PROGRAMS[name])).fit(X, Y)


def call(model: Any) -> Any:
    made = model.predict(X) if hasattr(model, "predict") else model.transform(X)
    return made.toarray() if hasattr(made, "toarray") else made


def put(name: str, value: Any) -> Callable[[Any], None]:
    return lambda of: setattr(of, name, value)


AT_ONCE: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "coefficients": ("logistic", put("coef_", 0.0), "coef_ belongs to the fitted estimator"),
    "steps": ("pipeline", put("steps", []), "steps belongs to the fitted estimator"),
    "parameter": ("logistic", put("C", 2.0), "C belongs to the fitted estimator"),
    "cells": ("logistic", lambda m: m.coef_.fill(0.0), "read-only"),
    "cells of a step": ("pipeline", lambda m: m[0].mean_.fill(0.0), "read-only"),
    "parameter of a step": (
        "pipeline",
        lambda m: m.set_params(logisticregression__C=2.0),
        "Invalid parameter 'logisticregression'",
    ),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_the_model_does_not_read_cannot_be_written(name: str) -> None:
    program, write, words = AT_ONCE[name]
    model = model_of(program)
    expected = call(model)
    with pytest.raises((AttributeError, ValueError), match=words):
        write(model)
    np.testing.assert_array_equal(call(model), expected)


UNDONE: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "attribute of a step": ("pipeline", lambda m: put("coef_", 0.0)(m[-1]), "coef_ of Logistic"),
    "parameter of a step": (
        "pipeline",
        lambda m: m[0].set_params(with_mean=False),
        "with_mean of StandardScaler",
    ),
    "step": ("pipeline", lambda m: m.steps.pop(), "steps of Pipeline"),
    "branch": (
        "union",
        lambda m: put("scale_", 1.0)(m.transformer_list[0][1]),
        "scale_ of StandardScaler",
    ),
    "fit": ("pipeline", lambda m: m[0].fit(X[:9]), "of StandardScaler"),
}


@pytest.mark.parametrize("name", UNDONE)
def test_what_is_written_to_a_step_is_refused_once_and_undone(name: str) -> None:
    program, write, words = UNDONE[name]
    model = model_of(program)
    expected = call(model)
    write(model)
    with pytest.raises(ConfigError, match=rf"{words}.* was changed after `fit`.*to_sklearn"):
        call(model)
    np.testing.assert_array_equal(call(model), expected)


ASKED: dict[str, Callable[[Accelerated, Path], Any]] = {
    "predict_proba": lambda m, _: m.predict_proba(X),
    "save": lambda m, home: pipeline.save(m, home / "model"),
    "to_sklearn": lambda m, _: m.to_sklearn(),
    "contributions": lambda m, _: m.contributions(X),
    "importance": lambda m, _: m.importance(X, Y),
    "certify": lambda m, _: m.certify(X),
}


@pytest.mark.parametrize("name", ASKED)
def test_no_call_ignores_what_was_written(name: str, tmp_path: Path) -> None:
    model = model_of("pipeline")
    model[-1].coef_ = np.zeros((1, 3))
    with pytest.raises(ConfigError, match="coef_ of LogisticRegression was changed after `fit`"):
        ASKED[name](model, tmp_path)


PARAMETERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "set": (
        lambda m: m.set_params(estimator__logisticregression__C=9.0),
        "C of LogisticRegression",
    ),
    "at the estimator": (
        lambda m: m.estimator[0].set_params(with_mean=False),
        "with_mean of Standard",
    ),
    "steps": (lambda m: m.estimator.steps.pop(0), "steps of Pipeline"),
    "device": (lambda m: m.set_params(device="cuda"), "device"),
    "dtype": (lambda m: m.set_params(dtype="float32"), "dtype"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_change_after_fit_want_another_fit(name: str) -> None:
    change, words = PARAMETERS[name]
    model = pickle.loads(pickle.dumps(model_of("pipeline")))
    call(model)
    change(model)
    for _ in range(2):
        with pytest.raises(ConfigError, match=rf"^{words}.* was changed after `fit`.*fit again"):
            call(model)
    if name != "device":
        call(model.fit(X, Y))


def test_what_changes_nothing_is_no_change() -> None:
    model = model_of("pipeline")
    for each in (model, copy.copy(model), pickle.loads(pickle.dumps(model))):
        expected = call(each)
        each.estimator.fit(X, Y)  # one's own, which is no parameter
        each.set_params(estimator__logisticregression__C=float("1.0"), host_bytes=10**9)
        each.set_params(estimator__steps=[*each.estimator.steps])
        each.note = 1
        each.note = 2
        np.testing.assert_array_equal(call(each), expected)
        assert each.note == 2


RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(RANDOM.normal(size=(200, 2)), columns=["a", "b"])
PLACES = np.add(TABLE["a"] > 0, TABLE["b"] > 0.5, dtype=int)
TEXTS = np.array(["cat", "cow", "dog"], object)[PLACES]
LABELS = {"text": TEXTS, "numbers": np.array([3, 5, 9])[PLACES]}
CLASSIFIERS = {
    "alone": XGBClassifier(n_estimators=5, n_jobs=1),
    "pipeline": make_pipeline(StandardScaler(), XGBClassifier(n_estimators=5, n_jobs=1)),
    "calibrated": CalibratedClassifierCV(XGBClassifier(n_estimators=5, n_jobs=1), cv=2),
}


def told(program: str, labels: str) -> Accelerated:
    encoder = LabelEncoder()
    model = Accelerated(CLASSIFIERS[program], device="cpu")
    model.fit(TABLE, encoder.fit_transform(LABELS[labels]))
    model.classes_ = encoder.classes_
    return model


@pytest.mark.quick(3)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("program", CLASSIFIERS)
def test_a_model_predicts_the_labels_that_it_was_told(
    program: str, labels: str, tmp_path: Path
) -> None:
    model, y = told(program, labels), LABELS[labels]
    wanted = clone(CLASSIFIERS[program]).fit(TABLE, PLACES)
    saved = pipeline.save(model, tmp_path / "model")
    for each in (model, pipeline.load(saved, "cpu"), pickle.loads(pickle.dumps(model))):
        assert each.predict(TABLE).tolist() == each.classes_[wanted.predict(TABLE)].tolist()
        assert each.score(TABLE, y) == np.mean(each.predict(TABLE) == y) > 0.9
        each.certify(TABLE).require()
    assert model.to_sklearn().predict(TABLE).tolist() == wanted.predict(TABLE).tolist()
