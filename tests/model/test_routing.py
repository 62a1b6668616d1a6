from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from pipeline import Accelerated
from pipeline.errors import DataError

ROWS = 120
_rng = np.random.default_rng(0)
TABLE = pd.DataFrame(_rng.normal(size=(ROWS, 3)), columns=list("abc"))
TABLE["a"] = np.exp(TABLE["a"])
LABELS = (TABLE["a"] + _rng.normal(size=ROWS) > 1).astype(int).to_numpy()
WEIGHTS = _rng.exponential(size=ROWS) * (np.arange(ROWS) % 5 > 0)
METADATA = {"sample_weight": WEIGHTS}


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def ours(estimator: Any, device: str = "cpu") -> Accelerated:
    return Accelerated(estimator, device=device, dtype="float64")


def scaler(asks: Any = True) -> StandardScaler:
    made = StandardScaler()
    return made if asks is None else made.set_fit_request(sample_weight=asks)


def logistic(asks: Any = True) -> LogisticRegression:
    return LogisticRegression().set_fit_request(sample_weight=asks)


def ridge(asks: Any = True) -> Ridge:
    return Ridge().set_fit_request(sample_weight=asks)


def branches(asks: Any = True) -> Any:
    imputed = make_pipeline(SimpleImputer(), scaler(asks))
    return make_column_transformer((imputed, ["a", "b"]), (MinMaxScaler(), ["c"]))


SPECS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "both": (lambda: make_pipeline(scaler(), logistic()), METADATA),
    "the last step alone": (lambda: make_pipeline(scaler(False), logistic()), METADATA),
    "nobody was given any": (lambda: make_pipeline(scaler(), logistic()), {}),
    "another name": (lambda: make_pipeline(scaler("w"), logistic(False)), {"w": WEIGHTS}),
    "columns": (lambda: make_pipeline(branches(), logistic()), METADATA),
    "union": (
        lambda: make_pipeline(make_union(scaler(), MinMaxScaler()), logistic(False)),
        METADATA,
    ),
    "a pipeline inside": (lambda: make_pipeline(make_pipeline(scaler()), logistic()), METADATA),
    "an estimator alone": (logistic, METADATA),
}  # fmt: skip


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("name", SPECS)
def test_metadata_reach_the_steps_that_ask_for_them(name: str) -> None:
    estimator, metadata = SPECS[name]
    plain = estimator().fit(TABLE, LABELS, **metadata)
    model = ours(estimator()).fit(TABLE, LABELS, **metadata)
    expected = plain.predict_proba(TABLE)
    np.testing.assert_allclose(model.predict_proba(TABLE), expected, rtol=1e-6)
    np.testing.assert_allclose(model.to_sklearn().predict_proba(TABLE), expected, rtol=1e-6)
    if metadata:
        without = estimator().fit(TABLE, LABELS).predict_proba(TABLE)
        assert abs(expected - without).max() > 1e-3  # the weights matter


REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "unset": (lambda: make_pipeline(scaler(), LogisticRegression()), METADATA),
    "unset in the scaler": (lambda: make_pipeline(StandardScaler(), logistic()), METADATA),
    "unset in a branch": (lambda: make_pipeline(branches(None), logistic()), METADATA),
    "not wanted": (lambda: make_pipeline(scaler(False), ridge(False)), METADATA),
    "unknown": (lambda: make_pipeline(scaler(), logistic()), {**METADATA, "strange": 1}),
    "unknown, alone": (logistic, {"strange": 1}),
}  # fmt: skip


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_asked_for_is_refused_in_sklearns_words(name: str) -> None:
    make, metadata = REFUSED[name]
    theirs = make() if hasattr(make(), "steps") else make_pipeline(make())
    with pytest.raises((TypeError, UnsetMetadataPassedError)) as expected:
        theirs.fit(TABLE, LABELS, **metadata)
    with pytest.raises(expected.type) as found:
        ours(make()).fit(TABLE, LABELS, **metadata)
    assert (
        str(found.value).partition("] are")[0]
        == str(expected.value)
        .replace("Pipeline.fit got", "Accelerated.fit got")
        .partition("] are")[0]
    )


def judged() -> Any:
    return make_pipeline(scaler(), logistic().set_score_request(sample_weight=True))


def validated(wrap: Callable[[Any], Any], prefix: str) -> Any:
    params = {**METADATA, "groups": np.arange(ROWS) % 10}
    folds = GroupKFold(3)
    return cross_validate(wrap(judged()), TABLE, LABELS, cv=folds, params=params)["test_score"]


def searched(wrap: Callable[[Any], Any], prefix: str) -> Any:
    grid = {f"{prefix}logisticregression__C": [1e-3, 1.0]}
    search = GridSearchCV(wrap(judged()), grid, cv=2).fit(TABLE, LABELS, **METADATA)
    return [*search.cv_results_["mean_test_score"], *search.predict_proba(TABLE)[:, 1]]


def bagged(wrap: Callable[[Any], Any], prefix: str) -> Any:
    model = BaggingRegressor(wrap(make_pipeline(scaler(), ridge())), 3, random_state=0)
    return model.fit(TABLE, LABELS, **METADATA).predict(TABLE)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("answers", [validated, searched, bagged])
def test_what_is_around_a_model_hands_them_on(answers: Callable[[Any, str], Any]) -> None:
    expected = answers(lambda estimator: estimator, "")
    np.testing.assert_allclose(answers(ours, "estimator__"), expected, rtol=1e-6)


@pytest.mark.usefixtures("routing")
def test_scores_are_weighted_where_it_is_asked_for() -> None:
    for asks in (True, False):
        last = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=asks)
        estimator = make_pipeline(scaler(False), last)
        model, plain = ours(estimator).fit(TABLE, LABELS), clone(estimator).fit(TABLE, LABELS)
        if asks:
            found = model.score(TABLE, LABELS, sample_weight=WEIGHTS)
            assert found == pytest.approx(plain.score(TABLE, LABELS, sample_weight=WEIGHTS))
            assert found != pytest.approx(plain.score(TABLE, LABELS))
        else:
            for each in (model, plain):
                with pytest.raises(TypeError, match=r"score got unexpected argument\(s\)"):
                    each.score(TABLE, LABELS, sample_weight=WEIGHTS)


@pytest.mark.usefixtures("routing")
def test_batches_take_what_is_asked_for() -> None:
    estimator = SGDClassifier(random_state=0).set_partial_fit_request(
        classes=True, sample_weight=True
    )
    params = {"classes": [0, 1], **METADATA}
    plain = clone(estimator).partial_fit(TABLE, LABELS, **params)
    model = ours(estimator).partial_fit(TABLE, LABELS, **params)
    np.testing.assert_array_equal(model.to_sklearn().coef_, plain.coef_)
    asking = StandardScaler().set_partial_fit_request(sample_weight=True)
    model = ours(asking)
    for _ in range(2):
        model.partial_fit(TABLE, **METADATA)
        asking.partial_fit(TABLE, **METADATA)
    assert not model.plan_.as_given
    np.testing.assert_allclose(model.to_sklearn().scale_, asking.scale_, rtol=1e-12)


INNER = make_pipeline(make_pipeline(StandardScaler()), LogisticRegression())
TWICE = make_pipeline(make_union(StandardScaler(), StandardScaler()), LogisticRegression())
PLAIN = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (PLAIN, ["standardscaler__sample_weight"]),
        (PLAIN, ["standardscaler__sample_weight", "logisticregression__sample_weight"]),
        (INNER, ["pipeline__standardscaler__sample_weight"]),
        (TWICE, ["featureunion__sample_weight"]),
    ],
)
def test_without_routing_steps_are_named(estimator: Any, names: list[str]) -> None:
    params = {name: WEIGHTS[:: 1 - 2 * i] for i, name in enumerate(names)}
    expected = clone(estimator).fit(TABLE, LABELS, **params).predict_proba(TABLE)
    found = ours(estimator).fit(TABLE, LABELS, **params).predict_proba(TABLE)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (WEIGHTS[:5], "5 values, but X has 120 rows"),
        (np.c_[WEIGHTS, WEIGHTS], "2 dimension"),
        (np.where(WEIGHTS > 1, np.nan, 1), "is not finite"),
        (["a"] * ROWS, "is not numeric"),
    ],
)
def test_weights_that_match_no_rows_are_refused(weights: Any, said: str) -> None:
    with pytest.raises(DataError, match=rf"StandardScaler|standardscaler.*sample_weight.*{said}"):
        ours(StandardScaler()).fit(TABLE, sample_weight=weights)


NOT_TAKEN: dict[str, tuple[Any, dict[str, Any]]] = {
    "as they come": (make_pipeline(StandardScaler(), "passthrough"), METADATA),
    "neighbours": (make_pipeline(StandardScaler(), KNeighborsClassifier()), METADATA),
    "columns": (make_pipeline(branches(None)), METADATA),
    "input": (make_pipeline(scaler(None), Ridge(), transform_input=["X_val"]), {}),
}


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_what_no_step_takes_is_refused_as_in_scikit_learn(name: str) -> None:
    estimator, params = NOT_TAKEN[name]
    for model in (clone(estimator), ours(estimator)):
        with pytest.raises((ValueError, TypeError), match=r"sample_weight|transform_input"):
            model.fit(TABLE, LABELS, **params)
