"""What scikit-learn builds around an estimator, around `Accelerated` and inside it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import DBSCAN, KMeans
from sklearn.ensemble import AdaBoostClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter
from xgboost import XGBClassifier

from pipeline import Accelerated, explain
from pipeline.errors import DataError
from tests.programs import NUMBERS, TABLE, WORDS, on_cpu, program

X = TABLE[["n2"]].assign(n3=TABLE["n1"].fillna(0.0)).to_numpy()


def exact(estimator: Any = None) -> Accelerated:
    return on_cpu(estimator, dtype="float64")


GRID = {"logisticregression__C": [1e-3, 1.0]}
AROUND = {
    "grid": lambda of, prefix: GridSearchCV(of, {f"{prefix}{k}": v for k, v in GRID.items()}, cv=2),
    "random": lambda of, prefix: RandomizedSearchCV(
        of,
        {f"{prefix}logisticregression__C": loguniform(1e-3, 1)},
        n_iter=2,
        cv=2,
        random_state=0,
    ),
    "halving": lambda of, prefix: HalvingGridSearchCV(
        of, {f"{prefix}{k}": v for k, v in GRID.items()}, cv=2, random_state=0
    ),
    "calibration": lambda of, prefix: CalibratedClassifierCV(of, cv=2),
    "voting": lambda of, prefix: VotingClassifier(
        [("a", of), ("b", clone(of))], voting="soft", weights=[1, 2]
    ),
    "stacking": lambda of, prefix: StackingClassifier([("a", of)], cv=2),
    "one-vs-rest": lambda of, prefix: OneVsRestClassifier(of),
}


@pytest.mark.parametrize("name", AROUND)
def test_around_it_as_around_a_plain_pipeline(name: str) -> None:
    """On matrices, since some of these convert tables before they pass them on."""
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    ours = AROUND[name](exact(plain), "estimator__").fit(X, WORDS)
    theirs = AROUND[name](plain, "").fit(X, WORDS)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("name", ["grid", "calibration", "voting", "stacking"])
def test_inside_it_they_run_as_they_are(name: str) -> None:
    inner = AROUND[name](make_pipeline(StandardScaler(), LogisticRegression()), "")
    estimator = make_pipeline(StandardScaler(), inner)
    model = exact(estimator).fit(X, WORDS)
    expected = clone(estimator).fit(X, WORDS)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-6)
    assert f"sklearn.{type(inner).__name__}" in str(explain(estimator, device="cpu"))


def test_cross_validation_of_several_measures() -> None:
    measures = {"scoring": ["accuracy", "roc_auc", "neg_log_loss"], "cv": 3}
    ours, theirs = (cross_validate(of, TABLE, WORDS, **measures) for of in (exact(), program()))
    for name in ("test_accuracy", "test_roc_auc", "test_neg_log_loss"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5)


def test_weights_are_shown_where_the_spec_has_them() -> None:
    assert has_fit_parameter(exact(LogisticRegression()), "sample_weight")
    assert not has_fit_parameter(exact(KNeighborsClassifier()), "sample_weight")
    boosted = AdaBoostClassifier(exact(DecisionTreeClassifier(max_depth=1)), n_estimators=3)
    plain = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=3)
    ours, theirs = boosted.fit(X, WORDS).predict(X), plain.fit(X, WORDS).predict(X)
    np.testing.assert_array_equal(ours, theirs)


def boosted() -> Pipeline:
    model = XGBClassifier(
        n_estimators=30, max_depth=2, learning_rate=0.9, early_stopping_rounds=2, n_jobs=1
    )
    return program(model)


def test_eval_sets_are_prepared_as_the_training_rows_are() -> None:
    seen, held = TABLE[:160], TABLE[160:]
    labels, held_labels = NUMBERS[:160], NUMBERS[160:]
    model = exact(boosted()).fit(seen, labels, eval_set=[(held, held_labels)], verbose=False)
    prepare, last = boosted().named_steps["columntransformer"], boosted()[-1]
    ready = prepare.fit_transform(seen, labels)
    last.fit(ready, labels, eval_set=[(prepare.transform(held), held_labels)], verbose=False)
    assert 0 < last.best_iteration < 29
    expected = last.predict_proba(prepare.transform(held))
    np.testing.assert_allclose(model.predict_proba(held), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([TABLE], "not a list of pairs"),
        ([(TABLE.drop(columns="n2"), NUMBERS)], "n2"),
        ([(TABLE, NUMBERS[1:])], "239 values"),
    ],
    ids=["no pair", "other columns", "other rows"],
)
def test_bad_eval_sets_are_refused(sets: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        exact(boosted()).fit(TABLE, NUMBERS, eval_set=sets)


@pytest.mark.parametrize(
    "estimator", [DBSCAN(eps=1.0), KMeans(2, n_init=1, random_state=0)], ids=str
)
def test_fit_predict_labels_the_training_rows(estimator: Any) -> None:
    whole = make_pipeline(StandardScaler(), estimator)
    model = exact(whole)
    np.testing.assert_array_equal(model.fit_predict(X), clone(whole).fit_predict(X))
    assert [entry.step for entry in model.execution_log_.entries][-1] == type(
        estimator
    ).__name__.lower()
    assert not hasattr(exact(LogisticRegression()), "fit_predict")


def test_probabilities_of_several_targets_are_a_list() -> None:
    targets = np.column_stack([WORDS, NUMBERS.astype(str)])
    model = exact(KNeighborsClassifier()).fit(X, targets)
    expected = KNeighborsClassifier().fit(X, targets).predict_proba(X)
    found = model.predict_proba(X)
    assert [each.tolist() for each in model.classes_] == [["no", "yes"], ["0", "1"]]
    assert len(found) == 2
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_prediction_changes_nothing_in_the_model() -> None:
    model = exact().fit(TABLE, WORDS)
    before = dict(vars(model))
    model.predict(TABLE)
    assert vars(model) == before
    assert model.execution_log_.entries[-1].call == "predict"


def test_a_fitted_model_goes_through_pickle_with_its_books() -> None:
    model = exact(boosted()).fit(TABLE, NUMBERS, eval_set=[(TABLE, NUMBERS)], verbose=False)
    again = pickle.loads(pickle.dumps(model))
    assert again.execution_log_ == model.execution_log_
    np.testing.assert_array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
