"""The type that an estimator learns from on a GPU, where nothing stands before it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from pipeline import Accelerated
from pipeline.backends.gpu_rules import rule
from pipeline.compile.lower import LoweringOptions, lower
from pipeline.table import frames
from tests.contract.estimators import LEARNING
from tests.contract.recorder import LIVE, Recorder

pytestmark = pytest.mark.usefixtures("device")

ROWS = 300
TENTHS = np.random.default_rng(0).normal(size=(ROWS, 4)) + np.arange(ROWS)[:, None] % 2
TENTHS = np.round(TENTHS, 1)
SECONDS = 1_700_000_000 + np.random.default_rng(1).choice(3600, ROWS, replace=False)
Y = np.arange(ROWS) % 2

SPECS: dict[str, Any] = {
    "KMeans": KMeans(4, random_state=0),
    "KNN": KNeighborsClassifier(),
    "logistic": LogisticRegression(),
    "ridge": Ridge(),
    "PCA": PCA(3),
    "SVC": SVC(),
    "forest": RandomForestClassifier(random_state=0),
    "behind components": make_pipeline(PCA(3), KMeans(4, random_state=0)),
}
ANSWERS = ("predict", "predict_proba", "decision_function", "transform")


def named(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list("abcd"))


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "NumPy": np.asarray,
    "CuPy": lambda X: frames.to_device(X, "cuda"),
    "pandas": named,
    "cuDF": lambda X: frames.to_device(named(X), "cuda"),
    "lists": lambda X: X.tolist(),
}


def learnt_from(device: Recorder) -> list[str]:
    """Return the types of the matrices that cuML's classes were given to learn from."""
    calls = [call for call in device.calls if call.name in LEARNING and "cuml" in call.owner]
    return [call.args[0].dtype.name for call in calls if call.args]


def fitted(estimator: Any, X: Any, **options: Any) -> Accelerated:
    return Accelerated(clone(estimator), device="cuda", **options).fit(X, Y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["KMeans", "ridge"])
def test_rows_of_every_form_are_float32_or_float64_where_it_has_too_few_digits(
    name: str, form: str, device: Recorder
) -> None:
    X = FORMS[form](TENTHS)
    fitted(SPECS[name], X)
    fitted(SPECS[name], X, dtype="float32")
    fitted(SPECS[name], X, dtype="float64")
    default = "float32" if name == "KMeans" else "float64"
    assert learnt_from(device) == [default, "float32", "float64"]
    exact = Accelerated(SPECS[name], device="cuda").explain()
    assert ("learns from float64" in str(exact)) == (default == "float64")


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    ("kind", "dtype"), [("float64", "auto"), ("float64", "float32"), ("float32", "float64")]
)
@pytest.mark.parametrize("name", SPECS)
def test_the_lifted_model_gives_the_same_answers(
    name: str, dtype: str, kind: str, device: Recorder
) -> None:
    X = TENTHS.astype(kind)
    model = fitted(SPECS[name], X, dtype=dtype)
    of_class = rule(last(SPECS[name]))
    narrow = dtype == "float32" or of_class.dtype == "float32"
    narrow |= dtype == "auto" and of_class.dtype != "float64"
    assert learnt_from(device)[-1] == ("float32" if narrow else "float64")
    assert of_class.dtype != "float32" or "dtype='float32'" in str(model.explain())
    lifted = pickle.loads(pickle.dumps(model.to_sklearn()))
    for method in [each for each in ANSWERS if hasattr(model, each)]:
        made = getattr(model, method)(X)
        np.testing.assert_allclose(getattr(lifted, method)(X), made, rtol=1e-6, atol=1e-6)
    if name == "forest" or (of_class.dtype == "float64" and dtype != "float32"):
        assert type(lifted) is type(SPECS[name])
    assert repr(last(lifted)) == repr(last(SPECS[name]))
    assert lifted.n_features_in_ == 4


def last(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model


# Neighbors refuse such rows: they lie too far off zero.
@pytest.mark.parametrize("name", ["KMeans", "logistic"])
def test_rows_that_float32_merges_are_told_and_answered_alike(name: str) -> None:
    X = TENTHS.copy()
    X[:, 2] = SECONDS
    with pytest.warns(UserWarning, match="column 2: .* too close .* float32, .*; subtract"):
        model = fitted(SPECS[name], X, dtype="float32")
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["KMeans", "PCA"])
@pytest.mark.parametrize("form", ["CuPy", "cuDF"])
def test_the_matrix_is_half_as_large_and_the_only_copy(
    name: str, form: str, device: Recorder
) -> None:
    rows = np.asfortranarray(np.random.default_rng(0).normal(size=(20_000, 4)))
    worker: Any = (
        lower(clone(SPECS[name]), "cuda", LoweringOptions(dtype="float32")).steps[-1].worker
    )
    with device.paused(), LIVE.counted() as live:
        X = FORMS[form](rows)
        before = live.nbytes
        made = worker._learnable(X, np.arange(len(rows)) % 2, {})
    assert made.nbytes == rows.nbytes / 2
    # What is missing is looked up in a matrix of bools, or in a column.
    assert live.peak - before < 0.8 * rows.nbytes
    assert getattr(made.flags, f"{rule(SPECS[name]).order.lower()}_contiguous")
