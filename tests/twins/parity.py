"""One fit here and one in scikit-learn, compared output by output and attribute by attribute."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from pipeline.blocks import table
from pipeline.compile.program import Program

RTOL = {"float64": 1e-6, "float32": 1e-5}
ATOL = {"float64": 1e-12, "float32": 1e-6}

# SimpleImputer remembers the type it saw, for its own input checks; ours is the
# type of the statistics.
PRIVATE = {"_fit_dtype", "_fill_dtype"}


@contextmanager
def quiet() -> Iterator[None]:
    """Silence scikit-learn: it warns of dropped columns and unknown categories, we do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def heard() -> Iterator[set[str]]:
    """Collect what a user is warned of, but of dropped columns and unknown categories."""
    said: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    users = [str(each.message) for each in caught if each.category is UserWarning]
    said |= {text for text in users if not text.startswith(("Skipping", "Found unknown"))}


def dense(matrix: Any) -> np.ndarray:
    """Return scikit-learn's output as floats."""
    return (matrix.toarray() if issparse(matrix) else np.asarray(matrix)).astype("float64")


def sklearn_fit(estimator: BaseEstimator, X: Any, y: Any = None) -> tuple[Any, np.ndarray]:
    """Return the fitted original and its matrix of the training rows."""
    with quiet():
        fitted = clone(estimator)
        return fitted, dense(fitted.fit_transform(X, y))


def assert_parity(
    estimator: BaseEstimator, X: Any, y: Any = None, new: Any = None, dtype: str = "float64"
) -> Program:
    """Fit both; compare the training matrix, that of new rows, warnings, and the hand-over."""
    reference, program = clone(estimator), Program(estimator, dtype)
    new = X if new is None else new
    with heard() as theirs:
        expected = dense(reference.fit_transform(X, y)), dense(reference.transform(new))
    with heard() as ours:
        found = program.fit_transform(X, y), program.transform(new)
    for mine, its in zip(found, expected, strict=True):
        close(mine, its, dtype)
    assert ours == theirs
    assert_handed_over(program.to_sklearn(), reference, new)
    return program


def cut(patch: pytest.MonkeyPatch, n_rows: int, n_blocks: int) -> None:
    """Have tables of so many rows read in so many blocks."""
    patch.setattr(table, "CHUNK_ROWS", -(-n_rows // n_blocks))


def close(ours: np.ndarray, theirs: np.ndarray, dtype: str = "float64") -> None:
    """Compare two matrices."""
    assert ours.dtype == dtype
    assert ours.flags.forc
    np.testing.assert_allclose(ours, theirs, rtol=RTOL[dtype], atol=ATOL[dtype])


def assert_handed_over(plain: Any, reference: Any, new: Any) -> None:
    """Compare what `to_sklearn` gives with what scikit-learn fitted itself."""
    assert type(plain) is type(reference)
    check_is_fitted(plain)
    assert differences(plain, reference) == []
    with quiet():
        np.testing.assert_allclose(
            dense(plain.transform(new)), dense(reference.transform(new)), rtol=1e-6, atol=1e-12
        )
        assert list(plain.get_feature_names_out()) == list(reference.get_feature_names_out())


def assert_both_refuse(estimator: BaseEstimator, X: Any, y: Any = None) -> str:
    """Assert that scikit-learn and we raise a kind of error; return our message, with its notes."""
    with quiet(), pytest.raises((TypeError, ValueError)):
        clone(estimator).fit_transform(X, y)
    with pytest.raises((TypeError, ValueError)) as caught:
        Program(estimator, "float64").fit_transform(X, y)
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return what differs between two fitted objects, with the path to each."""
    if isinstance(theirs, np.ndarray):
        return _array_differences(ours, theirs, path)
    if type(ours) is not type(theirs):
        return [f"{path}: {type(ours).__name__} is not {type(theirs).__name__}"]
    if isinstance(theirs, dict):
        return differences(sorted(ours.items()), sorted(theirs.items()), path)
    if isinstance(theirs, list | tuple):
        if len(ours) != len(theirs):
            return [f"{path}: {ours} is not {theirs}"]
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{path}[{i}]")]
    if isinstance(theirs, float):
        equal = np.isclose(ours, theirs, rtol=1e-6, atol=1e-12, equal_nan=True)
        return [] if equal else [f"{path}: {ours} is not {theirs}"]
    if hasattr(theirs, "__dict__") and not isinstance(theirs, type) and not callable(theirs):
        return _attribute_differences(ours, theirs, path)
    return [] if repr(ours) == repr(theirs) or callable(theirs) else [f"{path}: {ours}, {theirs}"]


def _attribute_differences(ours: Any, theirs: Any, path: str) -> list[str]:
    found = [f"{path}: only one has {n}" for n in sorted(set(vars(ours)) ^ set(vars(theirs)))]
    for name, value in vars(theirs).items():
        if name in vars(ours) and name not in PRIVATE:
            found += differences(vars(ours)[name], value, f"{path}.{name}")
    return found


def _array_differences(ours: Any, theirs: np.ndarray, path: str) -> list[str]:
    if not isinstance(ours, np.ndarray) or ours.shape != theirs.shape:
        return [f"{path}: {ours!r} is not {theirs!r}"]
    if len(theirs) and isinstance(theirs.flat[0], np.ndarray) and ours.dtype == theirs.dtype:
        return differences(list(ours), list(theirs), path)
    if theirs.dtype.kind == "f":
        same = np.allclose(ours, theirs, rtol=1e-6, atol=1e-12, equal_nan=True)
    else:
        same = all(
            a == b or (a != a and b != b) for a, b in zip(ours.flat, theirs.flat, strict=True)
        )
    if same and ours.dtype == theirs.dtype:
        return []
    return [f"{path}: {ours!r} is not {theirs!r}"]
