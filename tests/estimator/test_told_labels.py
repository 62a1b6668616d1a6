"""Labels that a model is told after `fit`, as users of XGBoost's classifiers keep them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(200, 2)), columns=["a", "b"])
PLACES = np.add(X["a"] > 0, X["b"] > 0.5, dtype=int)
TEXTS = np.array(["cat", "cow", "dog"], object)[PLACES]
LABELS = {"text": TEXTS, "numbers": np.array([3, 5, 9])[PLACES]}
PROGRAMS = {
    "alone": XGBClassifier(n_estimators=5, n_jobs=1),
    "pipeline": make_pipeline(StandardScaler(), XGBClassifier(n_estimators=5, n_jobs=1)),
    "calibrated": CalibratedClassifierCV(XGBClassifier(n_estimators=5, n_jobs=1), cv=2),
}


def told(program: str, labels: str) -> Accelerated:
    encoder = LabelEncoder()
    model = Accelerated(PROGRAMS[program], device="cpu")
    model.fit(X, encoder.fit_transform(LABELS[labels]))
    model.classes_ = encoder.classes_
    return model


@pytest.mark.quick(3)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_model_predicts_the_labels_that_it_was_told(
    program: str, labels: str, tmp_path: Path
) -> None:
    model, y = told(program, labels), LABELS[labels]
    wanted = clone(PROGRAMS[program]).fit(X, PLACES)
    saved = pipeline.save(model, tmp_path / "model")
    for each in (model, pipeline.load(saved, "cpu"), pickle.loads(pickle.dumps(model))):
        assert each.predict(X).tolist() == each.classes_[wanted.predict(X)].tolist()
        assert each.score(X, y) == np.mean(each.predict(X) == y) > 0.9
        each.certify(X).require()
    assert model.to_sklearn().predict(X).tolist() == wanted.predict(X).tolist()


def test_what_scikit_learn_runs_as_it_is_predicts_them_too() -> None:
    digits, encoder = X.astype(str), LabelEncoder()
    model = Accelerated(PROGRAMS["pipeline"], device="cpu")
    model.fit(digits, encoder.fit_transform(TEXTS))
    model.classes_ = encoder.classes_
    assert model.plan_.as_given
    assert model.predict(digits).tolist() == TEXTS.tolist()
    assert model.score(digits, TEXTS) == 1.0


def test_a_new_fit_forgets_them() -> None:
    model = told("pipeline", "text").fit(X, PLACES)
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) == {0, 1, 2}
