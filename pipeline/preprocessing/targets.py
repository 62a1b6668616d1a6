"""What a target encoder knows of y: its labels as numbers, and the folds of its rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.preprocessing import TargetEncoder
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from pipeline.errors import ConfigError, DataError


class Target(NamedTuple):
    """y as numbers, with its folds.

    Parameters
    ----------
    kind : str
        ``"binary"``, ``"multiclass"`` or ``"continuous"``.
    classes : numpy.ndarray or None
        The labels, sorted; None for a continuous target.
    values : numpy.ndarray, shape (n_rows,)
        The position of each label among the classes, or y as float64.
    folds : numpy.ndarray of int, shape (n_rows,)
        The fold in which each row is held out.
    """

    kind: str
    classes: np.ndarray | None
    values: np.ndarray
    folds: np.ndarray


def read_target(spec: TargetEncoder, y: np.ndarray) -> Target:
    """Return the target as numbers, and the folds that scikit-learn's encoder would make.

    Raises
    ------
    ConfigError
        The splits are no folds.
    DataError
        The target is of a type that cannot be encoded.
    """
    seen = _type(y)
    kind = seen if spec.target_type == "auto" else spec.target_type
    if kind not in ("binary", "multiclass", "continuous"):
        raise DataError(
            f"Unknown label type: TargetEncoder cannot use a target of type {kind!r}; "
            "pass one column"
        )
    y = y.reshape(len(y))
    if kind == "continuous":
        return Target(kind, None, y.astype("float64"), _folds(_splitter(spec, y, kind), y))
    codes, classes = labels(y)
    codes = codes.astype(np.min_scalar_type(len(classes)))
    if kind == "multiclass" and len(classes) < 3:
        raise DataError(
            f"TargetEncoder: target_type='multiclass' and y has {len(classes)} labels; "
            "leave target_type out"
        )
    stratified = seen in ("binary", "multiclass")
    # Of labels, scikit-learn asks no more here than how many there are.
    splitter = _splitter(spec, np.arange(len(classes)) if stratified else y, kind)
    known = type(splitter) in (KFold, StratifiedKFold)
    return Target(kind, classes, codes, _folds(splitter, codes if stratified and known else y))


def _type(y: np.ndarray) -> str:
    """Return scikit-learn's name for a target, without sorting all its labels.

    >>> _type(np.array([3, 7, 3])), _type(np.array([3.0, 7.0, 4.0]))
    ('binary', 'multiclass')
    """
    if y.size == len(y) > 0:
        if y.dtype.kind in "biu":
            between = (y.min() < y) & (y < y.max())
            return "multiclass" if between.any() else "binary"
        if _repeats(y):
            # It is by the values that there are, however often.
            y = pd.unique(y.ravel())
    return str(type_of_target(y, input_name="y"))


def _repeats(y: np.ndarray) -> bool:
    """Return whether a target of numbers or objects holds words, or at first whole numbers."""
    if y.dtype.kind == "f":
        return bool((np.trunc(first := y[:100]) == first).all())
    return isinstance(y.flat[0], str)


def labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each label's position, and the sorted labels, as `LabelEncoder` does.

    >>> codes, classes = labels(np.array(["no", "yes", "no"]))
    >>> codes.tolist(), classes.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    if y.dtype.kind in "biu" and len(y) and _are_near(low := int(y.min()), int(y.max())):
        # Counted in their places, which no hash table does as fast.
        places = np.subtract(y, low, dtype="int64")
        present = np.bincount(places) > 0
        codes = (np.cumsum(present) - 1).astype("uint16")
        return codes[places], (np.flatnonzero(present) + low).astype(y.dtype)
    codes, classes = pd.factorize(y, sort=True)
    return codes, np.asarray(classes).astype(y.dtype)


def _are_near(low: int, high: int) -> bool:
    return high - low < 2**16 and high < 2**63


def _folds(splitter: Any, y: np.ndarray) -> np.ndarray:
    """Return the fold that holds each row out, in few bytes; it is learnt from those outside."""
    folds = _held_out(splitter, y)
    return folds.astype(np.min_scalar_type(int(folds.max()) + 1))


def _held_out(splitter: Any, y: np.ndarray) -> np.ndarray:
    if type(splitter) is StratifiedKFold:
        try:
            return _stratified(splitter, y)
        except ValueError as error:
            raise DataError(f"TargetEncoder: {error} (n_samples={len(y)}); lower cv") from error
    folds = np.full(len(y), -1)
    if type(splitter) is KFold and splitter.n_splits <= len(y):
        # What `split` makes the rows to train on from.
        for number, held_out in enumerate(splitter._iter_test_indices(y)):
            folds[held_out] = number
        return folds
    whole = True
    for number, (train, held_out) in enumerate(splitter.split(np.zeros(len(y)), y)):
        whole &= bool((folds[held_out] < 0).all()) and _outside(train, held_out, len(y))
        folds[held_out] = number
    if not whole or (folds < 0).any():
        raise ConfigError(
            "TargetEncoder: cv must hold out every row exactly once and train on all others; "
            "pass a number, KFold or StratifiedKFold"
        )
    return folds


def _stratified(splitter: StratifiedKFold, y: np.ndarray) -> np.ndarray:
    """Return what `split` makes its indices from: the fold of each row.

    The numbers of classes are counted where scikit-learn sorts them; every shuffle draws what
    scikit-learn's draws, class by class in the order in which they appear.
    """
    n_folds = splitter.n_splits
    classes = pd.unique(y)
    sizes = np.bincount(y)[classes] if y.dtype in ("uint8", "uint16") else None
    if sizes is None or (sizes < n_folds).any():
        return np.asarray(splitter._make_test_folds(None, y))
    random = check_random_state(splitter.random_state)
    numbers = np.arange(n_folds, dtype=np.min_scalar_type(n_folds))
    folds = np.empty(len(y), dtype=numbers.dtype)
    # Rows in the order of the classes go to the folds in turn.
    ends = np.append(0, np.cumsum(sizes))[:, None]
    in_turn = np.diff((ends - numbers.astype("int64") + n_folds - 1) // n_folds, axis=0)
    for label, rows in zip(classes, in_turn, strict=True):
        of_class = numbers.repeat(rows)
        if splitter.shuffle:
            random.shuffle(of_class)
        folds[y == label] = of_class
    return folds


def _outside(train: np.ndarray, held_out: np.ndarray, n_rows: int) -> bool:
    return np.array_equal(np.sort(train), np.delete(np.arange(n_rows), held_out))


def _splitter(spec: TargetEncoder, y: np.ndarray, kind: str) -> Any:
    options: dict[str, Any] = {"shuffle": True if spec.shuffle == "deprecated" else spec.shuffle}
    if spec.random_state != "deprecated":
        options["random_state"] = spec.random_state
    return check_cv(spec.cv, y, classifier=kind != "continuous", **options)
