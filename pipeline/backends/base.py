"""An estimator on a device: where it runs, and what runs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from inspect import signature
from math import inf, isfinite
from operator import methodcaller
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
from joblib import parallel_config
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.linear_model import HuberRegressor, Ridge, RidgeClassifier
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_array, get_tags

from pipeline.backends import incremental
from pipeline.errors import Reason
from pipeline.system.threads import one_openmp_thread, one_scipy_thread
from pipeline.table import frames, partitioned
from pipeline.table.borrowed import borrow
from pipeline.table.partitioned import densify
from pipeline.typing import Array, Estimator, Params, ReadParams, Table, Target

TREES = ("DecisionTree", "ExtraTree", "GradientBoosting", "IsolationForest", "RandomForest")
"""How the names of scikit-learn's estimators begin that read float32."""

BOOSTED = ("HistGradientBoosting", "XGB")
FORESTS = ("ExtraTrees", "IsolationForest", "RandomForest")
"""How the names of estimators begin that predict by threads of OpenMP, and by joblib's."""

BY_ONE, BY_ONE_TREE = 128, 200_000
"""Rows, and rows times trees of a forest, that one thread predicts as soon as several wake up."""

LITTLE = 2_000
"""Rows or columns, whichever are fewer, up to which one thread solves normal equations sooner."""
_CLOSE = 2.0**-14
"""Share of a number within which float32 has fewer than 1024 others."""

METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
"""Methods of a fitted estimator, by which a lifted one is compared."""


class Model:
    """An estimator that runs where its matrix lives, and can be handed back to scikit-learn.

    `native` runs in the place of the user's own, which is not changed; by default, a copy of it.
    """

    first = True
    """Its rows are the caller's own, not the output of a step."""

    dtype = "auto"
    """Type of the matrix that it learns and predicts from; "auto" is that of its rows."""

    sparse = True
    """Whether it takes sparse rows where it runs."""

    step = ""
    """Path of the step, for messages."""

    background: Any = None
    """Of a linear model: the number of its training rows, and the means of their columns."""

    row: Any = None
    """Zeros, with the type and names of the rows that it was given to learn from."""

    def __init__(self, estimator: BaseEstimator, native: Estimator = None) -> None:
        self.estimator = estimator
        self.native = borrow(estimator) if native is None else native

    def asked_for(self, dtype: str) -> None:
        """Learn from a matrix of a type; on the CPU, and XGBoost, from rows as they are."""

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit on a matrix or frame of the device; y is on the host."""
        self.native.fit(*with_target(self.native.fit, X, y), **params)

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows."""
        if hasattr(self.native, "fit_transform"):
            method = self.native.fit_transform
            return method(*with_target(method, X, y), **params)
        return self.native.fit(X, y, **params).transform(X)

    def fit_predict(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the labels of the training rows."""
        return self.native.fit_predict(X, y, **params)

    def partial_fit(self, X: Table, y: Target, **params: Any) -> None:
        """Learn from more rows."""
        self.native.partial_fit(self.typed(X), y, **params)

    def trains_distributed(self, call: str, X: Table, y: Target, params: Params) -> str:
        """Return how it learns from partitions; of those that say nothing, they are gathered."""
        return ""

    def why_gathered(self, call: str, X: Table, y: Target, params: Params) -> str:
        """Return why they have to be gathered, where others like them have not."""
        return ""

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return ``estimator.method(X, **params)``; of partitions, on the host."""
        if frames.is_partitioned(X):
            made = partitioned.compute_each(_call_unless_empty, X, self, method, params)
            return partitioned.concatenate([each for each in made if each is not None])
        y = [params.pop("y")] if "y" in params else []  # which `score` may call otherwise
        X = X if self.dtype == "auto" else self.typed(X)
        with threads_for(self.native, X):
            return getattr(self.native, method)(X, *y, **params)

    def typed(self, X: Table) -> Any:
        """Return rows as they are, or as a matrix of the type that it learns from."""
        return X if self.dtype == "auto" else frames.matrix(X, dtype=self.dtype)

    def taken(self, X: Table, order: str = "C") -> Any:
        """Return sparse rows as a matrix where it takes none, and others as they are.

        `Unsupported` if the matrix does not fit, scikit-learn's TypeError if its estimator takes
        none.
        """
        if self.sparse or not frames.is_sparse(X):
            return X
        if not get_tags(self.estimator).input_tags.sparse:
            check_array(csr_matrix((1, 1)), input_name="X")
        why = f"{type(self.estimator).__name__} does not support sparse rows on the GPU"
        if self.dtype not in ("auto", X.dtype):
            X = X.astype(self.dtype)
        return densify(X, self.step, why, order)

    def learnt_from(self, X: Table, order: str = "C") -> Any:
        """Return rows as a matrix to learn from, and remember their type."""
        made = frames.matrix(self.taken(X, order), order, self.dtype)
        if self.dtype != "auto" and not frames.is_sparse(made):
            self.row = make_zero_row(X)
            if made is not X and made.dtype == "float32" and not frames.is_partitioned(X):
                _warn_of_merged(X, made)
        return made

    def to_sklearn(self) -> Any:
        """Return the fitted estimator with the user's own parameters."""
        return self.native

    def cast(self) -> tuple[str, Any] | None:
        """Return the step that casts rows to the type that the lifted estimator was fitted on.

        None if they are that already, if the estimator converts them itself, or if a `Pipeline`
        has none of its methods.
        """
        needed = self.row is not None and not reads_float32(self.estimator)
        answers = any(hasattr(self.estimator, method) for method in (*METHODS, "score"))
        return make_cast(self.row, self.dtype) if needed and answers else None


def with_target(method: Callable[..., Any], X: Table, y: Target) -> tuple[Any, ...]:
    """Return what a method is given: no target where there is none and it takes none.

    >>> with_target(lambda y: None, [1], None), with_target(lambda X, Y: None, [1], None)
    (([1],), ([1], None))
    """
    _, *names = map(str.lower, signature(method).parameters)
    return (X,) if y is None and "y" not in names else (X, y)


def find_last_dtype(dtype: str, device: str, last: Estimator, rule: Backend | None) -> str:
    """Return the type of the matrix for the last estimator of a pipeline; "auto" is scikit-learn's.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> find_last_dtype("auto", "cpu", Ridge(), None)
    'auto'
    >>> find_last_dtype("auto", "cpu", DecisionTreeRegressor(), None)
    'float32'
    """
    if dtype != "auto" or not (device == "cuda" or reads_float32(last)):
        return dtype
    return "float64" if rule is not None and rule.unsafe_in_float32 else "float32"


def reads_float32(estimator: Estimator) -> bool:
    """Return whether an estimator of the host reads its table as float32: trees do.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> reads_float32(DecisionTreeRegressor()), reads_float32(object())
    (True, False)
    """
    module, name = type(estimator).__module__, type(estimator).__name__
    trees = name.startswith(TREES)
    return module.startswith("xgboost") or (module.startswith("sklearn") and trees)


def threads_for(fitted: Estimator, X: Table) -> AbstractContextManager[None]:
    """Return the context in which rows are predicted: few of them by trees, in one thread."""
    n_rows = getattr(X, "shape", (inf,))[0]
    wrapped: Any = getattr(fitted, "estimator", None)
    for trees in (fitted, wrapped):
        name = type(trees).__name__
        if name.startswith(BOOSTED) and n_rows <= BY_ONE:
            return one_openmp_thread(type(trees).__module__.partition(".")[0])
        shared = name.startswith(FORESTS) and getattr(trees, "n_jobs", 1) not in (None, 1)
        if shared and n_rows * trees.n_estimators <= BY_ONE_TREE:
            return parallel_config("sequential")
    return nullcontext()


def waits_for_blas(estimator: Estimator, X: Table) -> bool:
    """Return whether a fit calls SciPy's linear algebra for a little work, between NumPy's.

    SciPy's L-BFGS-B does, and the Cholesky decomposition of `Ridge`. The estimator may be wrapped.

    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> X = np.zeros((9, 2))
    >>> waits_for_blas(OneVsRestClassifier(LogisticRegression()), X), waits_for_blas(Ridge(), X)
    (True, True)
    """
    one = getattr(estimator, "estimator", estimator)
    solver = getattr(one, "solver", "")
    if isinstance(one, Ridge | RidgeClassifier):
        return solver in ("auto", "cholesky") and min(getattr(X, "shape", (0,))) <= LITTLE
    return solver == "lbfgs" or isinstance(one, HuberRegressor)


def _warn_of_merged(X: Table, made: Any) -> None:
    """Warn of a column whose numbers are so close together that float32 merges them."""
    low, high = made.min(axis=0), made.max(axis=0)
    close = (high > low) & (high - low < _CLOSE * abs(high))
    if bool(close.any()):
        column = int(close.argmax())
        name = X.columns[column] if frames.is_frame(X) else column
        warnings.warn(
            f"column {name!r}: values near {float(high[column]):g} are too close together for "
            "float32, in which this step learns; subtract a constant from the column",
            UserWarning,
            stacklevel=2,
        )


def make_zero_row(X: Table) -> Any:
    """Return a row of zeros with the type and the names of a frame or an array.

    >>> make_zero_row(pd.DataFrame({"a": [1], "b": [2.0]})).dtypes.tolist()
    [dtype('float64'), dtype('float64')]
    """
    if not frames.is_frame(X):
        return np.zeros((1, X.shape[1]), X.dtype)
    kinds = {str(dtype) for dtype in X.dtypes}
    row = np.zeros((1, X.shape[1]), "float32" if kinds == {"float32"} else "float64")
    named = all(isinstance(name, str) for name in X.columns)
    return pd.DataFrame(row, columns=list(X.columns)) if named else row


def make_cast(row: Any, dtype: str) -> tuple[str, Any] | None:
    """Return the step that casts rows like this one to a type; None if they have it.

    >>> name, cast = make_cast(np.zeros((1, 2)), "float32")
    >>> name, cast.transform([[0.1, 2]]).dtype.name
    ('to_float32', 'float32')
    """
    if np.asarray(row).dtype == dtype:
        return None
    # It takes what scikit-learn's estimators take: frames, lists, numbers as text.
    how = FunctionTransformer(
        methodcaller("astype", dtype),
        validate=True,
        accept_sparse=True,
        feature_names_out="one-to-one",
    )
    return f"to_{dtype}", how.fit(row)


def call_partition(X: Table, model: Model, method: str, params: Params) -> Any:
    """Return the result of a model for one partition, on the host."""
    made = model.call(method, X, **params)
    if isinstance(made, tuple):
        return tuple(frames.to_device(each, "cpu") for each in made)
    return frames.to_device(made, "cpu")


def _call_unless_empty(X: Table, *asked: Any) -> Any:
    """Return the same; None for a partition without rows, of which scikit-learn takes none."""
    return call_partition(X, *asked) if X.shape[0] else None


class HostModel(Model):
    """The user's own estimator, on the host."""

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit; a one-column target stays one-dimensional."""
        if frames.is_partitioned(X):
            return incremental.fit_incrementally(self.native, X, y, **params)
        with one_scipy_thread if waits_for_blas(self.native, X) else nullcontext():
            return super().fit(frames.to_device(X, "cpu"), y, **params)

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows; of partitions, as partitions."""
        if not frames.is_partitioned(X):
            return super().fit_transform(X, y, **params)
        self.fit(X, y, **params)
        made = self.native.transform(make_zero_row(X))
        chunks = X.chunks[0], made.shape[1:]
        return X.map_blocks(
            call_partition, self, "transform", {}, dtype=X.dtype, chunks=chunks, meta=made[:0]
        )

    def trains_distributed(self, call: str, X: Table, y: Target, params: Params) -> str:
        """Return whether it learns from one partition after another, which it does if it must."""
        if hasattr(X, "columns") or not incremental.trains_incrementally(self.estimator, params):
            return ""
        enough, sizes = partitioned.fits(X)
        return "" if enough else f"one partition after another: {sizes}"


@dataclass(frozen=True)
class Placement:
    """Where one step of the estimator runs."""

    step: str
    """Path in the estimator, ``"columntransformer.numbers.simpleimputer"``."""
    implementation: str
    """What runs it; empty if nothing can."""
    device: str
    """``"cpu"``, ``"cuda"``, or empty."""
    note: str = ""
    """What differs from the estimator, or why it does not run on the requested device."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the implementation with another name or value than in the estimator."""
    dropped: tuple[str, ...] = ()
    """Parameters, as ``"name=value"``, that the implementation ignores."""
    reasons: tuple[Reason, ...] = ()
    """Why it does not run on the requested device."""

    @property
    def remarks(self) -> str:
        """Parameters and note in one line.

        >>> Placement("k", "cuml.cluster.KMeans", "cuda", parameters={"init": "k-means||"}).remarks
        "takes init='k-means||'"
        """
        takes = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return "; ".join(filter(None, [takes and f"takes {takes}", self.note]))

    def noted(self, remark: str) -> Placement:
        """Return a copy with a remark added to the note."""
        return replace(self, note="; ".join(filter(None, (self.note, remark))))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data; values that JSON cannot store become their `repr`."""
        plain = {name: _plain(value) for name, value in self.parameters.items()}
        fields = {name: value for name, value in vars(self).items() if name != "reasons"}
        reasons = [asdict(reason) for reason in self.reasons]
        return fields | {"parameters": plain, "dropped": list(self.dropped), "reasons": reasons}


def list_changes(estimator: ReadParams, given: ReadParams) -> dict[str, Any]:
    """Return the parameters that an implementation gets with another name or value.

    >>> list_changes({"C": 1.0, "tol": 0.1}, {"C": 1.0, "tol": 0.01, "solver": "qn"})
    {'tol': 0.01, 'solver': 'qn'}
    """
    return {
        name: value
        for name, value in given.items()
        if name not in estimator or repr(estimator[name]) != repr(value)
    }


def _plain(value: Array) -> Any:
    plain = isinstance(value, str | int | None) or (isinstance(value, float) and isfinite(value))
    return value if plain else repr(value)


class Backend(Protocol):
    """What runs steps of one sort on one device."""

    runner: Literal["scikit-learn", "cuML", "CuPy", "XGBoost"] = "cuML"
    """The library that runs them."""

    order: str = "C"
    """The order of a matrix that it learns from without making a copy."""

    sparse: bool = True
    """Whether it takes sparse rows; otherwise they become dense, if they fit."""

    sparse_note: str = ""
    """A note on the sparse rows that it takes."""

    unsafe_in_float32: bool = False
    """Whether it learns from float64, unless another type is asked for."""

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs an estimator, or raise `Unsupported`."""

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return what runs an estimator, unfitted, or raise `Unsupported`.

        `dtype` is that of the matrix that a text vectorizer hands on, where its own cannot be had.
        """


class Background(NamedTuple):
    """The means of the columns of the rows that a linear model was fitted on, without weights.

    The means are float64, on the device of the rows.
    """

    n_rows: int
    means: Array

    def and_also(self, other: Background) -> Background:
        """Return the means of both sets of rows together.

        >>> Background(1, np.array([0.0])).and_also(Background(2, np.array([4.5])))
        Background(n_rows=3, means=array([3.]))
        """
        n_rows = self.n_rows + other.n_rows
        share = other.n_rows / n_rows
        return Background(n_rows, self.means + share * (other.means - self.means))


def keep_means(
    worker: Any, learn: Callable[..., Any], rows: Table, *args: Any, more: bool, **params: Any
) -> Any:
    """Return what a fit returns; a linear model keeps the means of its training rows.

    The means take one pass over the matrix that is in memory; the fit takes several. With `more`,
    the rows come on top of those before, as in `partial_fit`.
    """
    goes_on = more and is_linear(worker.native)
    copies = getattr(worker.estimator, "copy_X", None)
    overwrites = copies is False or (copies and frames.device_of(rows) == "cuda")
    given = _describe(rows) if overwrites else None
    result = learn(rows, *args, **params)
    if is_linear(worker.native):
        if given is None and type(rows) is np.ndarray and rows.dtype.kind == "f":
            given = Background(len(rows), rows.mean(axis=0, dtype="float64"))
        given = given or _describe(rows)
        before = worker.background
        if goes_on and given:
            given = before and before.and_also(given)
        worker.background = given
    return result


def _describe(rows: Table) -> Background | None:
    """Return the means of rows; None of partitions, and of what is not a table of numbers."""
    if not frames.is_partitioned(rows):
        with suppress(AttributeError, TypeError, ValueError):  # scikit-learn reads more than arrays
            return Background(int(rows.shape[0]), column_means(rows))
    return None


def is_linear(fitted: Estimator) -> bool:
    """Return whether an estimator predicts from ``X @ coef_.T + intercept_``.

    >>> from sklearn.linear_model import Ridge
    >>> is_linear(Ridge()), is_linear(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
    (False, True)
    """
    name = type(fitted).__name__
    if type(fitted).__module__.startswith("xgboost.") or name.startswith("PLS"):
        return False  # the latter centres its rows
    if name in ("NuSVC", "SVC") and len(getattr(fitted, "classes_", ())) > 2:
        return False  # it decides between pairs of classes
    return getattr(fitted, "coef_", None) is not None and hasattr(fitted, "intercept_")


def column_means(rows: Table) -> Array:
    """Return the means of the columns of a matrix in float64, on its device.

    >>> column_means(np.array([[1, 2], [2, 4]], dtype="float32"))
    array([1.5, 3. ])
    """
    rows = frames.matrix(rows)
    if not frames.is_sparse(rows):
        return rows.mean(axis=0, dtype="float64")
    rows = rows.tocsr()
    sums = frames.xp(rows.data).bincount(
        rows.indices, weights=rows.data.astype("float64"), minlength=rows.shape[1]
    )
    sums = sums.astype("float64", copy=False)  # from integers, where no value is stored
    sums /= rows.shape[0]  # in place: hashing makes a million columns
    return sums
