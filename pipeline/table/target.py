"""The target: as long as the table, without missing values, and with enough classes."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.trace import BESIDE, record, setting
from pipeline.typing import Array, Estimator, Table, Target

_UNTOLD: ContextVar[bool] = ContextVar("untold", default=False)
TWO_CLASSES = ("HistGradientBoostingClassifier", "XGBClassifier", "XGBRFClassifier")
"""Classifiers that predict two classes even if they were fitted on one."""


def check_target(y: Target, X: Table) -> Any:
    """Return the target as a host array, as long as the table and without missing values."""
    if y is None:
        return None
    tell_order(X, y, "y")
    given, y = y, np.asarray(on_host(y, "target"))
    if not y.shape:  # a sparse matrix, too
        raise DataError(f"y is one {type(given).__name__}; pass an array of a value per row")
    if not frames.is_partitioned(X):
        check_rows(y, X.shape[0])
    missing = int(np.count_nonzero(pd.isna(y)))
    if missing:
        raise DataError(f"y has {missing} missing values; drop these rows")
    return y


def on_host(values: Target, name: str) -> Any:
    """Return a target, or weights, on the host; what is not on a GPU is returned as it is."""
    if frames.device_of(values) == "cpu":
        return values
    with record(name, "copy", "cpu", BESIDE):
        return frames.to_device(values, "cpu")


def check_rows(y: Target, rows: int) -> None:
    """Reject a target of another length than the table."""
    if y is not None and len(y) != rows:
        raise DataError(f"y has {len(y)} values, but X has {rows} rows; pass one value per row")


def names(y: Target) -> list[str] | None:
    """Return the names of several targets; None of one, or where they have none.

    >>> names(pd.DataFrame({"price": [1.0], "area": [2.0]}))
    ['price', 'area']
    """
    several = frames.is_frame(y) and len(y.columns) > 1
    return [str(name) for name in y.columns] if several else None


def check_weights(weights: Array, X: Table, step: str) -> np.ndarray:
    """Return the weights of the rows for a step, on the host; each is a finite number."""
    where = f"{step}: sample_weight"
    try:
        weights = np.asarray(frames.to_device(weights, "cpu"), dtype="float64")
    except (TypeError, ValueError) as error:
        raise DataError(f"{where} is not numeric: {error}; pass one number per row") from error
    if weights.ndim != 1:
        raise DataError(f"{where} has {weights.ndim} dimension(s); pass one number per row")
    if not frames.is_partitioned(X) and len(weights) != X.shape[0]:
        sizes = f"has {len(weights)} values, but X has {X.shape[0]} rows"
        raise DataError(f"{where} {sizes}; pass one weight per row")
    if not np.isfinite(weights).all():
        row = int((~np.isfinite(weights)).argmax())
        raise DataError(f"{where}: the weight of row {row} is not finite; pass a number, such as 0")
    return weights


def order_untold() -> AbstractContextManager[None]:
    """Give no warning that values may be of other rows, as scikit-learn gives none."""
    return setting(_UNTOLD, True)


def tell_order(X: Table, values: Target, name: str) -> None:
    """Warn where labels say that values may be of other rows; a list has a method `index`."""
    if (
        _UNTOLD.get()
        or callable(getattr(values, "index", callable))
        or callable(getattr(X, "index", callable))
    ):
        return
    if frames.is_partitioned(X) or len(values) != len(X):
        return
    labels = [X.index, values.index]
    if {*map(frames.library, labels)} == {*frames.FRAMES}:
        # To cuDF no index but its own is equal; the labels on the device stay there.
        labels = [frames.to_device(index, "cuda") for index in labels]
    if not labels[0].equals(labels[1]):
        said = f"the index of {name} differs from that of X; rows are matched by position"
        warnings.warn(said, UserWarning, stacklevel=3)


def check_classes(estimator: Estimator, y: Target) -> None:
    """Reject labels that are all the same where a model would predict two classes."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    name = type(last).__name__
    several = y is None or name not in TWO_CLASSES or y.ndim > 1 or not len(y)
    if not several and (y == y[0]).all():
        label = np.asarray(y[0]).item()
        raise DataError(
            f"y holds one class, {label!r}, in all {len(y)} rows, but {name} predicts "
            "probabilities of two; pass rows of at least two classes"
        )


def classes(y: np.ndarray) -> Any:
    """Return the labels of a target, sorted; a list with those of each of several targets.

    >>> classes(np.array([2, 1, 2])).tolist()
    [1, 2]
    """
    several = y.ndim == 2 and y.shape[1] > 1
    return [_distinct(column) for column in y.T] if several else _distinct(y.ravel())


def _distinct(y: np.ndarray) -> np.ndarray:
    # Sorting the labels of all rows would cost as much as a step of a solver.
    return np.unique(pd.unique(y).astype(y.dtype))


def encode_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each label's position, and the sorted labels, as `LabelEncoder` does.

    >>> codes, classes = encode_labels(np.array(["no", "yes", "no"]))
    >>> codes.tolist(), classes.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    codes, classes = pd.factorize(y, sort=True)
    return codes, np.asarray(classes).astype(y.dtype)
