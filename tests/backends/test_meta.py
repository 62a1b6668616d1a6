"""Meta-estimators whose inner estimators are lowered: here to the CPU, where numbers are exact."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from pipeline import explain
from pipeline.backends import meta
from pipeline.backends.gpu_rules import public_name
from pipeline.compile.lower import lower
from pipeline.errors import Reason, Unsupported
from tests.estimators import binary
from tests.meta_estimators import META, answers, named

ON_CPU = partial(lower, device="cpu")
FITTED_INSIDE = {
    f"votingclassifier.{name}": "" for name in ("a", "b.standardscaler", "b.gaussiannb")
}


def lowered(estimator: Any) -> meta.MetaModel:
    return meta.MetaModel(estimator, "model", meta.MetaBackend(lower=ON_CPU))


def test_each_that_is_looked_through_has_a_case() -> None:
    known = {public_name(estimator) for estimator, _ in META}
    alike = {"AdaBoostRegressor", "RandomizedSearchCV"}
    experimental = {"HalvingGridSearchCV", "HalvingRandomSearchCV"}
    left = {name.rpartition(".")[2] for name in meta.META.keys() - known}
    assert left == alike | experimental


@pytest.mark.quick(15)
@pytest.mark.parametrize("case", META, ids=named)
def test_it_is_lifted_to_what_scikit_learn_would_have_fitted(case: Any) -> None:
    estimator, data = case
    X, y = data()
    X = X.astype("float64")
    reference = clone(estimator).fit(X, y)
    model = lowered(estimator)
    model.fit(X, y)
    lifted = model.to_sklearn()
    assert type(lifted) is type(estimator)
    assert repr(clone(lifted)) == repr(clone(estimator))
    assert vars(lifted).keys() == vars(reference).keys()
    assert b"pipeline.backends" not in pickle.dumps(lifted)
    wanted = answers(reference, X)
    assert wanted
    for found in (answers(model.native, X), answers(lifted, X)):
        for method, arrays in wanted.items():
            for made, expected in zip(found[method], arrays, strict=True):
                np.testing.assert_allclose(made, expected, rtol=1e-9, err_msg=method)


def test_what_is_put_in_its_place_is_taken_for_the_estimator() -> None:
    inner = lowered(OneVsRestClassifier(LogisticRegression(C=0.5))).native.estimator
    assert is_classifier(inner)
    assert has_fit_parameter(inner, "sample_weight")
    assert not hasattr(inner, "transform")
    assert not hasattr(inner, "partial_fit")
    assert not hasattr(inner, "coef_")
    again = clone(inner).set_params(C=2.0)
    assert (again.get_params()["C"], inner.get_params()["C"]) == (2.0, 0.5)
    X, y = binary()
    again.fit(X, y)
    assert again.score(X, y) == LogisticRegression(C=2.0).fit(X, y).score(X, y)
    for copied in (copy.deepcopy(again), pickle.loads(pickle.dumps(again))):
        assert type(copied) is type(again)
        np.testing.assert_array_equal(copied.coef_, again.coef_)


def test_what_the_device_refuses_is_no_bad_score_to_a_search() -> None:
    def refuse(estimator: Any, *, name: str) -> Any:
        if estimator.C == 2:
            raise Unsupported(Reason(name, "the device cannot"))
        return ON_CPU(estimator, name=name)

    search = GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2)
    model = meta.MetaModel(search, "search", meta.MetaBackend(lower=refuse))
    with (
        pytest.warns(match="fits failed"),
        pytest.warns(match="non-finite"),
        pytest.raises(Unsupported, match="the device cannot"),
    ):
        model.fit(*binary())


@pytest.mark.parametrize(
    ("estimator", "refused"),
    [
        (
            BaggingClassifier(DecisionTreeClassifier(splitter="random")),
            {"baggingclassifier.estimator": "DecisionTreeClassifier is not supported on the GPU"},
        ),
        (
            VotingClassifier(
                [
                    ("a", LogisticRegression()),
                    ("b", make_pipeline(StandardScaler(), GaussianNB())),
                    ("c", ExtraTreeClassifier()),
                ]
            ),
            {"votingclassifier.c": "RandomForestClassifier", **FITTED_INSIDE},
        ),
        (
            SelectFromModel(Ridge(), prefit=True),
            {"selectfrommodel": "its estimator is already fitted"},
        ),
        (
            StackingClassifier([("a", GaussianNB())], cv="prefit"),
            {"stackingclassifier": "its estimator is already fitted"},
        ),
        (
            OneVsRestClassifier(BaggingClassifier(Ridge(positive=True))),
            {"onevsrestclassifier.estimator.estimator": "`positive=True` is not supported"},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_explain_names_the_inner_estimator_that_is_refused(
    estimator: Any, refused: dict[str, str]
) -> None:
    told = {place.step: place.note for place in explain(estimator, "cuda").placements}
    assert told.keys() == refused.keys()
    for step, why in refused.items():
        assert why in told[step]
