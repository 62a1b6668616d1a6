"""Every estimator of scikit-learn through `Accelerated` on the CPU, beside itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

# The instances on which scikit-learn runs its own checks, and what fails of them.
from sklearn.utils._test_common.instance_generator import (
    _get_expected_failed_checks,
    _tested_estimators,
)
from sklearn.utils.estimator_checks import (
    _enforce_estimator_tags_X,
    _enforce_estimator_tags_y,
    check_estimator,
)

from pipeline import Accelerated
from tests.names import one_in

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = 30
METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "transform"),
    *("score_samples", "score"),
)
NAMES = (
    *METHODS,
    *("fit_predict", "fit_transform", "inverse_transform", "set_output", "get_feature_names_out"),
    *("kneighbors", "radius_neighbors_graph"),
)
"""What a model has where the estimator has it; transformers learn in batches beside that."""
CHEAPER: dict[str, dict[str, Any]] = {
    "LogisticRegressionCV": {"Cs": 2},
    "TunedThresholdClassifierCV": {"thresholds": 5},
}
"""Shorter searches than those of scikit-learn's instances, which its checks fit dozens of times."""
TEXTS = [f"{'a few' if i % 3 else 'many'} words {i % 5}" for i in range(ROWS)]


def instances() -> Iterator[tuple[str, Any]]:
    """Yield one of each class with its name, cheap, the seed of what is drawn at random set."""
    seen = set()
    for estimator in _tested_estimators():
        name = type(estimator).__name__
        if name in seen:
            continue
        seen.add(name)
        seeds = [n for n in estimator.get_params() if n.rpartition("__")[2] == "random_state"]
        parameters = dict.fromkeys(seeds, 0) | CHEAPER.get(name, {})
        yield name, clone(estimator).set_params(**parameters)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ALL = dict(instances())


def table(estimator: BaseEstimator) -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    return np.asarray(_enforce_estimator_tags_X(estimator, X))


def data(estimator: BaseEstimator) -> tuple[Any, Any]:
    """Return what an estimator reads, as its tags say, and a target."""
    tags = get_tags(estimator).input_tags
    numbers = np.random.default_rng(1).permutation(np.arange(ROWS) % 3)
    y = _enforce_estimator_tags_y(estimator, numbers)
    if tags.two_d_array:
        return table(estimator), y
    if tags.string:
        return TEXTS, y
    if tags.dict:
        return [{"n": i, "w": text} for i, text in enumerate(TEXTS)], y
    if tags.three_d_array:
        return np.random.default_rng(0).normal(size=(ROWS, 6, 6)), y
    return numbers, y if get_tags(estimator).target_tags.required else None


def fitted(model: Any, X: Any, y: Any) -> Any:
    return model.fit(X) if y is None else model.fit(X, y)


def outcome(work: Callable[[], Any]) -> Any:
    """Return what comes of it, an error as well."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001
        return error


def same_rows(found: Any, expected: Any) -> None:
    """Compare what is stored, since the columns of hashed words are a million."""
    assert (type(found), found.shape) == (type(expected), expected.shape)
    for part in ("indptr", "indices", "data"):
        same(*(getattr(sp.csr_array(m), part) for m in (found, expected)))


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected)), repr(found)
        return
    if isinstance(found, Exception):
        raise found
    objects = isinstance(expected, np.ndarray) and expected.dtype.kind == "O"
    if isinstance(expected, list | tuple) or objects:
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    if sp.issparse(expected):
        same_rows(found, expected)
    elif np.asarray(expected).dtype.kind in "iufc":
        assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    elif isinstance(expected, np.ndarray | str | bool | None):
        np.testing.assert_array_equal(found, expected)
    else:
        assert type(found) is type(expected)


def available(model: Any) -> list[str]:
    return [name for name in NAMES if hasattr(model, name)]


def compare(model: Any, plain: Any, X: Any, y: Any) -> None:
    assert available(model) == available(plain)
    for method in METHODS:
        if hasattr(plain, method):
            asked = (X, y) if method == "score" and y is not None else (X,)
            got, wanted = (outcome(partial(getattr(m, method), *asked)) for m in (model, plain))
            same(got, wanted)
    for name in vars(plain):
        if name.endswith("_") and not name.startswith("_") and "time" not in name:
            same(getattr(model, name), getattr(plain, name))


TABLES = [name for name, estimator in ALL.items() if get_tags(estimator).input_tags.two_d_array]


@pytest.mark.quick(40)
@pytest.mark.parametrize(
    "case",
    [*product(ALL, ["as it comes"]), *one_in(3, product(TABLES, ["frame", "sparse"]))],
    ids="-".join,
)
def test_the_same_numbers(case: tuple[str, str]) -> None:
    name, form = case
    estimator = ALL[name]
    assert available(Accelerated(estimator, device="cpu")) == available(estimator)
    X, y = data(estimator)
    if form == "sparse":
        X = sp.csr_array(np.where(X < 0.3, 0, X))
    elif form == "frame":
        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    plain = outcome(partial(fitted, clone(estimator), X, y))
    model = outcome(partial(fitted, Accelerated(estimator, device="cpu"), X, y))
    if isinstance(plain, Exception):
        same(model, plain)
    else:
        assert not isinstance(model, Exception), repr(model)
        compare(model, plain, X, y)


MAKERS = [name for name, each in ALL.items() if hasattr(each, "fit_transform")]
FRAMES: dict[str, Callable[[Any], Any]] = {
    "of the model": lambda model: model.set_output(transform="pandas"),
    "of the session": lambda model: model,
    "of neither": lambda model: model.set_output(transform="pandas").set_output(
        transform="default"
    ),
}


@pytest.mark.parametrize("name", one_in(6, MAKERS))
def test_the_same_frames(name: str) -> None:
    X, y = data(ALL[name])
    given = (X,) if y is None else (X, y)
    for way, ask in FRAMES.items():
        asked = "pandas" if way == "of the session" else "default"
        if way != "of the session" and not hasattr(ALL[name], "set_output"):
            continue
        with config_context(transform_output=asked):
            models = ask(clone(ALL[name])), ask(Accelerated(ALL[name], device="cpu"))
            expected, found = (outcome(partial(m.fit_transform, *given)) for m in models)
            same_frames(found, expected)
            if hasattr(models[0], "transform"):
                same_frames(*(outcome(partial(m.transform, X)) for m in models[::-1]))


def same_frames(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same_frames(one, other)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected, rtol=1e-9, atol=1e-12)
    else:
        same(found, expected)


UNCHECKED = {"SparseCoder": "scikit-learn's checks give it its own number of columns by its name"}
BAD: dict[str, Callable[[np.ndarray], Any]] = {
    "missing": lambda X: np.where(X[0, 0] == X, np.nan, X),
    "infinite": lambda X: np.where(X[0, 0] == X, np.inf, X),
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "text": lambda X: np.where(X[0, 0] == X, "a", X.astype(object)),
    "a vector": lambda X: X[:, 0],
    "complex": lambda X: X.astype(complex),
    "three dimensions": lambda X: X[:, :, None],
    "wider": lambda X: np.hstack([X, X]),
}


def problem(found: Any, expected: Any) -> str:
    """Return what is wrong with an outcome: no error, another class, or other words."""
    if not isinstance(expected, Exception):
        return f"{found!r}, and none expected"[:300] if isinstance(found, Exception) else ""
    told = isinstance(found, type(expected)) and str(expected) in str(found)
    return "" if told else f"{found!r}, not {expected!r}"[:300]


@pytest.mark.quick(14)
@pytest.mark.parametrize("name", one_in(3, [name for name in TABLES if name not in UNCHECKED]))
def test_the_same_errors(name: str) -> None:
    """At fit, and of what was fitted on good rows."""
    estimator = ALL[name]
    X, y = data(estimator)
    model, plain = (
        fitted(Accelerated(estimator, device="cpu"), X, y),
        fitted(clone(estimator), X, y),
    )
    methods = [method for method in METHODS[:-1] if hasattr(plain, method)][:2]
    for what, spoil in BAD.items():
        rows = spoil(X)
        some = y[: len(rows)]
        found = outcome(partial(fitted, Accelerated(estimator, device="cpu"), rows, some))
        expected = outcome(partial(fitted, clone(estimator), rows, some))
        assert problem(found, expected) == "", f"fit: {what}"
        for method in methods:
            found, expected = (outcome(partial(getattr(m, method), rows)) for m in (model, plain))
            assert problem(found, expected) == "", f"{method}: {what}"


ITSELF = "the check sets or reads a parameter of the estimator itself, which is inside here"
NAMED = "the check knows the estimator by the name of its class"
_WEIGHTS = [f"check_sample_weight_equivalence_on_{rows}_data" for rows in ("dense", "sparse")]
_TRAIN, _OUTLIERS = (
    ["check_regressors_train"],
    ["check_outliers_fit_predict", "check_outliers_train"],
)
_PAIRS = ["check_transformer_data_not_an_array", "check_transformer_general"]
OURS: dict[str, dict[str, list[str]]] = {
    ITSELF: {
        **dict.fromkeys(
            [
                *("CalibratedClassifierCV", "LassoCV", "LogisticRegressionCV"),
                *("MultiTaskLassoCV", "RidgeCV", "RidgeClassifierCV"),
            ],
            _WEIGHTS,
        ),
        **dict.fromkeys(
            [
                *("ElasticNet", "Lasso", "LassoLars", "MultiTaskElasticNet", "MultiTaskLasso"),
                "QuantileRegressor",
            ],
            _TRAIN,
        ),
        **dict.fromkeys(["EllipticEnvelope", "IsolationForest"], _OUTLIERS),
        "LocalOutlierFactor": _OUTLIERS[:1],
        "LocallyLinearEmbedding": ["check_fit2d_1feature"],
        "OPTICS": ["check_fit2d_1sample"],
        "TSNE": ["check_fit2d_1feature", "check_fit2d_1sample"],
    },
    NAMED: {
        **dict.fromkeys(["CCA", "PLSCanonical", "PLSRegression", "PLSSVD"], _PAIRS),
        **dict.fromkeys(
            ["LabelPropagation", "LabelSpreading", "SelfTrainingClassifier"],
            ["check_classifiers_classes"],
        ),
        "SkewedChi2Sampler": [*_PAIRS, "check_transformer_preserve_dtypes"],
        "SpectralCoclustering": ["check_estimator_sparse_tag"],
    },
    "a coordinate differs by 4e-7, of a tolerance of 1e-7, with a seed of our choice": {
        "NMF": ["check_methods_subset_invariance"],
    },
}
"""Why -> name of an estimator -> the checks that only `Accelerated` around it fails."""


def expected_failures(name: str) -> dict[str, str]:
    own = _get_expected_failed_checks(ALL[name])
    return dict(own) | {check: why for why, held in OURS.items() for check in held.get(name, ())}


# Each takes seconds, some a minute.
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if name not in UNCHECKED])
def test_scikit_learn_is_content(name: str) -> None:
    results = check_estimator(
        Accelerated(ALL[name], device="cpu"),
        expected_failed_checks=expected_failures(name),
        on_skip=None,
        on_fail=None,
    )
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert failed == []
    ours = {check for held in OURS.values() for check in held.get(name, ())}
    assert ours <= {r["check_name"] for r in results if r["status"] == "xfail"}
