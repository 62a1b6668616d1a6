"""Fits on the same rows share what they have in common, and nothing that differs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.compile.plan import Step
from pipeline.model.sharing import REUSED
from pipeline.table.shared import shared

N_ROWS = 600
RANDOM = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "a": RANDOM.normal(size=N_ROWS),
        "b": RANDOM.exponential(size=N_ROWS),
        "i": RANDOM.integers(0, 50, N_ROWS),
        "few": RANDOM.choice(list("xyz"), N_ROWS),
        "many": RANDOM.choice([f"k{i}" for i in range(90)], N_ROWS),
    }
)
X.loc[::7, "a"] = np.nan
SIGNAL = X["a"].fillna(0) + 0.3 * X["b"] + (X["few"] == "x")
Y = (SIGNAL + RANDOM.normal(size=N_ROWS) > 0.5).astype(int).to_numpy()
NUMBERS, NAMES = ["a", "b", "i"], ["few", "many"]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def one_hot(**options):
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), NAMES),
        **options,
    )


def encoded():
    return make_column_transformer((SimpleImputer(), NUMBERS), (TargetEncoder(cv=FOLDS), NAMES))


PROGRAMS = {
    "one-hot": (make_pipeline(one_hot(), LogisticRegression()), {"logisticregression__C": [1, 9]}),
    "selected": (
        make_pipeline(encoded(), SelectKBest(k=3), LogisticRegression()),
        {"selectkbest__k": [2, 3], "logisticregression__C": [1, 9]},
    ),
    "third step": (
        make_pipeline(encoded(), StandardScaler(), PolynomialFeatures(), RidgeClassifier()),
        {"polynomialfeatures__degree": [1, 2], "ridgeclassifier__alpha": [1, 9]},
    ),
    "first step": (
        make_pipeline(encoded(), KNeighborsClassifier()),
        {"columntransformer__simpleimputer__strategy": ["mean", "median"]},
    ),
    "seeded": (
        make_pipeline(one_hot(), TruncatedSVD(3, random_state=0), LogisticRegression()),
        {"logisticregression__C": [1, 9]},
    ),
    "forest": (
        make_pipeline(encoded(), RandomForestClassifier(5, random_state=0)),
        {"randomforestclassifier__max_depth": [3, 6]},
    ),
    "XGBoost": (
        make_pipeline(encoded(), XGBClassifier(n_estimators=5)),
        {"xgbclassifier__max_depth": [3, 6], "xgbclassifier__max_bin": [16, 64]},
    ),
}


def search(estimator, space, X=X, **options):
    scoring = None if hasattr(estimator, "predict_proba") else "neg_mean_squared_error"
    model = estimator
    if options:
        model = Accelerated(estimator, device="cpu", **options)
        space = {f"estimator__{name}": values for name, values in space.items()}
    return GridSearchCV(model, space, cv=FOLDS, scoring=scoring, error_score="raise").fit(X, Y)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_search_finds_what_scikit_learn_finds(name: str) -> None:
    theirs = search(*PROGRAMS[name]).cv_results_
    ours = search(*PROGRAMS[name], shared(X), dtype="float64").cv_results_
    assert np.allclose(ours["mean_test_score"], theirs["mean_test_score"], rtol=0, atol=1e-9)
    assert np.array_equal(ours["rank_test_score"], theirs["rank_test_score"])


@pytest.fixture
def calls(monkeypatch):
    """Return a counter of the calls of steps."""
    counted: Counter[tuple[str, str]] = Counter()

    def counting(method):
        own = getattr(Step, method)

        def called(self, call, *args, **params):
            counted[self.name, call] += 1
            return own(self, call, *args, **params)

        monkeypatch.setattr(Step, method, called)

    counting("learn")
    counting("call")
    return counted


def test_a_step_is_fitted_once_for_each_fold_and_setting_of_its_own(calls) -> None:
    search(*PROGRAMS["third step"], shared(X), dtype="auto")
    fits = {name: n for (name, call), n in calls.items() if call.startswith("fit")}
    # Three folds and the refit; two degrees; two penalties.
    assert fits == {
        "columntransformer": 3 + 1,
        "standardscaler": 3 + 1,
        "polynomialfeatures": 3 * 2 + 1,
        "ridgeclassifier": 3 * 4 + 1,
    }
    assert calls["columntransformer", "transform"] == 3
    assert calls["polynomialfeatures", "transform"] == 3 * 2


def test_without_a_seed_nothing_is_shared_and_the_plan_says_why(calls) -> None:
    svd = make_pipeline(one_hot(), TruncatedSVD(3), MaxAbsScaler(), Ridge())
    found = search(svd, {"ridge__alpha": [1, 9]}, shared(X), dtype="auto")
    assert calls["columntransformer", "fit_transform"] == 3 + 1
    assert calls["truncatedsvd", "fit_transform"] == calls["ridge", "fit"] == 3 * 2 + 1
    placed = {place.step: place.note for place in found.best_estimator_.plan_.placements}
    assert "not shared: truncatedsvd.random_state=None is not a seed" in placed["truncatedsvd"]
    rows = shared(X)
    model = Accelerated(svd, device="cpu").fit(rows, Y)
    assert np.array_equal(model.predict(rows), model.predict(X))
    model.predict(rows)
    assert "scikit-learn" not in [event.step for event in model.execution_log_.last.events]


def test_the_log_says_what_was_reused() -> None:
    rows = shared(X)[:400]
    first, second = (Accelerated(PROGRAMS["third step"][0], device="cpu") for _ in range(2))
    first.fit(rows, Y[:400])
    second.fit(rows, Y[:400])
    assert [event.call for event in first.execution_log_.events].count(REUSED) == 0
    told = [(e.step, e.call, e.device, e.why) for e in second.execution_log_.events]
    why = "another fit on the same rows computed it"
    steps = ("columntransformer", "standardscaler", "polynomialfeatures")
    assert told[:3] == [(step, REUSED, "cpu", why) for step in steps]
    assert told[3][:2] == ("ridgeclassifier", "fit")
    for _ in range(2):
        second.predict(rows[:50])
    calls = [e.call for e in second.execution_log_.last.events]
    assert calls == [REUSED, REUSED, REUSED, "predict"]


CHANGES = {
    "rows": lambda m, rows, y: (m, rows[:399], y[:399]),
    "order of rows": lambda m, rows, y: (m, rows[::-1], y[::-1]),
    "target": lambda m, rows, y: (m, rows, 1 - y),
    "a cell": lambda m, rows, y: (m, shared(X.assign(b=X["b"].where(X.index != 3, 9)))[:400], y),
    "a parameter": lambda m, rows, y: (
        m.set_params(estimator__columntransformer__simpleimputer__add_indicator=True), rows, y,
    ),
    "dtype": lambda m, rows, y: (m.set_params(dtype="float32"), rows, y),
    "output": lambda m, rows, y: (m.set_params(
        estimator__columntransformer=encoded().set_output(transform="pandas")
    ), rows, y),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_matters_is_made_anew(change: str, calls) -> None:
    program = make_pipeline(encoded(), LogisticRegression())
    rows, y = shared(X)[:400], Y[:400]
    Accelerated(program, device="cpu").fit(rows, y)
    model, changed, target = CHANGES[change](Accelerated(program, device="cpu"), rows, y)
    model.fit(changed, target)
    assert calls["columntransformer", "fit_transform"] == 2
    again = clone(model).fit(changed.rows(), target)
    assert np.array_equal(model.predict_proba(changed), again.predict_proba(changed.rows()))


def test_memory_keeps_to_its_room(calls) -> None:
    rows = shared(X, room_bytes=100_000)
    search(*PROGRAMS["third step"], rows, dtype="auto")
    cache = rows.table.cache()
    assert 50_000 < cache.held_bytes <= 100_000
    assert calls["columntransformer", "fit_transform"] > 3 + 1
    none = shared(X, room_bytes=0)
    found = search(*PROGRAMS["third step"], none, dtype="auto").cv_results_["mean_test_score"]
    assert none.table.cache().held_bytes == 0
    plain = search(*PROGRAMS["third step"], dtype="auto").cv_results_["mean_test_score"]
    assert np.array_equal(found, plain)


def test_early_stopping_judges_by_shared_rows(calls) -> None:
    program = make_pipeline(encoded(), XGBClassifier(n_estimators=50, early_stopping_rounds=3))
    rows, name = shared(X), program.steps[0][0]
    found = []
    for depth, given in ((3, rows), (4, rows), (4, X)):
        asked = clone(program).set_params(xgbclassifier__max_depth=depth)
        model = Accelerated(asked, device="cpu")
        seen, judged = given[:400], given[400:]
        model.fit(seen, Y[:400], eval_set=[(judged, Y[400:])], verbose=False)
        made = calls[name, "transform"]
        told = [e.call for e in model.execution_log_.events if e.step == name]
        found.append((model[-1].best_iteration, made, told, model.predict_proba(X).tolist()))
    assert found[1][::3] == found[2][::3]
    # What the first model predicts is made once more: a table, and no handle.
    assert [made for _, made, _, _ in found] == [1, 2, 4]
    assert [told for _, _, told, _ in found] == [
        ["fit_transform", "transform"], [REUSED, REUSED], ["fit_transform", "transform"],
    ]  # fmt: skip


class Noise(TransformerMixin, BaseEstimator):
    """A transformer of a user's own that draws numbers and has no seed."""

    def fit(self, X, y=None):
        self.noise_ = np.random.default_rng(0).normal()
        return self

    def transform(self, X):
        return np.asarray(X, dtype="float64") + self.noise_


@pytest.mark.parametrize("alone", [False, True])
def test_code_of_ones_own_that_may_differ_runs_unshared(alone: bool, calls) -> None:
    program = Noise() if alone else make_pipeline(Noise(), Ridge())
    rows = shared(X[["b", "i"]])
    for _ in range(2):
        model = Accelerated(program, device="cpu").fit(rows, Y)
    ask = "transform" if alone else "predict"
    plain = getattr(clone(program).fit(X[["b", "i"]], Y), ask)(X[["b", "i"]])
    assert np.allclose(getattr(model, ask)(rows), plain)
    assert sum(n for (_, call), n in calls.items() if call.startswith("fit")) >= 2 * (2 - alone)
    assert alone or "noise: Noise is your own code" in repr(model.plan_)
