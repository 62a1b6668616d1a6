"""Meta-estimators of scikit-learn, with data to learn from; the inner ones have rules for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import (
    ClassifierChain,
    MultiOutputClassifier,
    MultiOutputRegressor,
    RegressorChain,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from tests.estimators import Data, binary, classes, numbers


def two_numbers() -> Data:
    """Return rows with two numbers each."""
    X, y = numbers()
    return X, np.column_stack([y, y[::-1]])


def two_labels() -> Data:
    """Return rows with two labels each."""
    X, y = binary()
    return X, np.column_stack([y, y[::-1]])


def half_known() -> Data:
    """Return rows of two classes, half of them unknown."""
    X, y = binary()
    return X, np.where(np.arange(len(y)) % 2, y, -1)


SCALED = make_pipeline(StandardScaler(), LogisticRegression())
LINEAR = LinearSVC(random_state=0)
META: list[tuple[Any, Callable[[], Data]]] = [
    (CalibratedClassifierCV(SVC(), cv=2), binary),
    (CalibratedClassifierCV(GaussianNB(), ensemble=False), classes),
    (CalibratedClassifierCV(cv=2), classes),
    (OneVsRestClassifier(LogisticRegression()), classes),
    (OneVsRestClassifier(CalibratedClassifierCV(GaussianNB(), cv=2)), classes),
    (OneVsOneClassifier(LINEAR), classes),
    (OutputCodeClassifier(LogisticRegression(), random_state=0), classes),
    (TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1), numbers),
    (TransformedTargetRegressor(), numbers),
    (RFE(LinearRegression(), n_features_to_select=3), numbers),
    (RFECV(Ridge(), cv=3), numbers),
    (SelectFromModel(Lasso(0.01)), numbers),
    (SelectFromModel(LogisticRegression()), classes),
    (SequentialFeatureSelector(Ridge(), n_features_to_select=2, cv=2), numbers),
    (BaggingClassifier(GaussianNB(), 3, random_state=0), classes),
    (BaggingRegressor(Ridge(), 3, random_state=0, max_features=0.5, n_jobs=2), numbers),
    (AdaBoostClassifier(GaussianNB(), n_estimators=3, random_state=0), classes),
    (
        VotingClassifier([("a", SCALED), ("b", GaussianNB()), ("c", "drop")], voting="soft"),
        classes,
    ),
    (VotingRegressor([("a", Ridge()), ("b", Lasso(0.01))]), numbers),
    (StackingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], cv=3), classes),
    (StackingRegressor([("a", Ridge())], Lasso(0.01), cv=3, passthrough=True), numbers),
    (MultiOutputRegressor(Lasso(0.01)), two_numbers),
    (MultiOutputClassifier(LogisticRegression()), two_labels),
    (RegressorChain(Ridge()), two_numbers),
    (ClassifierChain(LogisticRegression()), two_labels),
    (GridSearchCV(SCALED, {"logisticregression__C": [0.5, 1.0]}, cv=2), binary),
    (FixedThresholdClassifier(LogisticRegression()), binary),
    (TunedThresholdClassifierCV(LogisticRegression(), cv=2), binary),
    (SelfTrainingClassifier(LogisticRegression()), half_known),
]
"""One or more of each that is looked through."""


def named(case: tuple[Any, Any]) -> str:
    """Return the names of the classes, the inner ones too."""
    inner = getattr(case[0], "estimator", None)
    names = [type(each).__name__ for each in (case[0], inner) if each is not None]
    return "-".join(names)


def answers(model: Any, X: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Return what a fitted model says of rows, by method."""
    found = {}
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            made = getattr(model, method)(X)
            found[method] = [np.asarray(each) for each in (made if type(made) is list else [made])]
    return found
