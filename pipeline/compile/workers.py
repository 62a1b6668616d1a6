"""What runs a transformer that no twin does: on all rows of a table at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from pipeline.backends.cpu import host_order
from pipeline.blocks.block import Numbers, Objects, Unread, flat
from pipeline.blocks.csr import ReadSparse, write_sparse
from pipeline.blocks.table import Read, Table, write_frame, write_matrix
from pipeline.compile.flat import FlatProgram
from pipeline.compile.nodes import BlockNode, NodeInput, check_type
from pipeline.errors import DataError, Reason, Unsupported, in_both_words
from pipeline.table import convert, frames
from pipeline.table.borrowed import borrow
from pipeline.table.output import container
from pipeline.trace import record
from pipeline.twins import TWINS
from pipeline.typing import Array, Estimator, Form, Params, Target
from pipeline.typing import Table as Rows

if TYPE_CHECKING:
    from pipeline.blocks.dask import Data


class Worker(Protocol):
    """An estimator on a device, as `pipeline.backends.base.Model` is one."""

    def fit_transform(self, X: Rows, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows, where X is."""

    def call(self, method: str, X: Rows) -> Any:
        """Return the result of a method, `transform`, where X is."""

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn transformer."""

    def resume(self, fitted: Estimator) -> None:
        """Take the fitted scikit-learn transformer of a saved model."""


class HostWorker:
    """scikit-learn's own transformer, or any with `fit` and `transform`, on the host.

    Rows of a GPU are copied to it, and its results are copied back.

    With `of_numbers`, it is in the place of twins: `fit` may read a frame as a matrix.

    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> HostWorker(PCA(1), "pca").fit_transform(np.eye(3), None).shape
    (3, 1)
    """

    def __init__(self, estimator: Estimator, path: str, *, of_numbers: bool = False) -> None:
        self.estimator, self.path, self.of_numbers = estimator, path, of_numbers
        self.native = borrow(estimator)

    def fit_transform(self, X: Rows, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows."""
        return self._at_home(self._learn, X, y=y, params=params)

    def fit(self, X: Rows, y: Target, **params: Any) -> None:
        """Fit, and transform no row."""
        self._fit("fit", convert.as_passed(self._move(X, "cpu"), self.native), y, params)

    def fit_more(self, X: Rows, y: Target, **params: Any) -> None:
        """Add rows to those of `fit`; what `to_sklearn` has returned does not change."""
        native = deepcopy(self.native)
        self.native = native.partial_fit(convert.as_passed(self._move(X, "cpu")), y, **params)

    def _learn(self, X: Rows, y: Target, params: Params) -> Any:
        if hasattr(self.native, "fit_transform"):
            return self._fit("fit_transform", X, y, params)
        return self.native.fit(X, y, **params).transform(X)

    def _fit(self, method: str, X: Rows, y: Target, params: Params) -> Any:
        """Fit to a frame, or to its matrix, of which scikit-learn checks no names and types."""
        first = _first(self.native)
        if not (self.of_numbers and _reads_as_matrix(first, X)):
            return getattr(self.native, method)(X, y, **params)
        made = getattr(self.native, method)(X.to_numpy(), y, **params)
        first.feature_names_in_ = X.columns.to_numpy(dtype=object)
        return made

    def call(self, method: str, X: Rows) -> Any:
        """Return the result of a method."""
        return self._at_home(getattr(self.native, method), X)

    def _at_home(self, work: Callable[..., Any], X: Rows, **params: Any) -> Any:
        made = work(convert.as_passed(self._move(X, "cpu"), self.native), **params)
        if (device := frames.device_of(X)) == "cpu":
            return made
        if frames.is_sparse(made):
            return self._move(_as_on_gpu(made), device)
        matrix = np.asarray(made)
        return self._move(matrix, device) if matrix.dtype.kind in "iufb" else matrix

    def _move(self, X: Rows, device: str) -> Any:
        if frames.device_of(X) == device:
            return X
        with record(self.path, "copy", device, "it runs on the CPU"):
            return frames.to_device(X, device)

    def to_sklearn(self) -> Any:
        """Return the fitted transformer."""
        return self.native

    def resume(self, fitted: Estimator) -> None:
        """Take a fitted transformer."""
        self.native = fitted


def _first(part: Any) -> Any:
    """Return the first step of a pipeline, of whatever depth."""
    return _first(part.steps[0][1]) if type(part) is Pipeline else part


def _reads_as_matrix(first: Any, X: Rows) -> bool:
    """Return whether a transformer makes the same of the matrix of a frame as of the frame."""
    return (
        type(first) in TWINS
        and type(first) is not FunctionTransformer  # its function may ask for a frame
        and container(first) == "default"
        and type(X) is pd.DataFrame
        and len({*frames.types(X)}) == 1
        and {*map(type, X.columns)} == {str}
        and not (type(first) is SimpleImputer and _may_be_empty(X, first.missing_values))
    )


def _may_be_empty(X: pd.DataFrame, missing: Any) -> bool:
    """Return whether an imputer may find columns without values, which it then names."""
    if not (isinstance(missing, float) and np.isnan(missing)):
        return True
    gaps: Any = pd.isna(X.iloc[:99].to_numpy()).all(axis=0)
    return bool(gaps.any() and X.loc[:, gaps].isna().all().any())


def _as_on_gpu(rows: Any) -> Any:
    """Return sparse rows as a GPU has them: of floats, each cell once and in order."""
    rows = rows.tocsr().astype(np.result_type(rows.dtype, "float32"))
    rows.sum_duplicates()
    return rows


class WorkerNode(BlockNode):
    """A transformer that no twin runs: its worker learns from all rows, and transforms all.

    `why` is why no twin runs it, and `twins` are those in whose place it is, for speed or for the
    last bits. A `series` is the one column that it reads. Sparse rows that it returns are an error,
    unless it `keeps_sparse`. `weights` are those of the rows of the next `fit`, which forgets them.
    """

    named: Sequence[Any] | None = None
    """The columns of the frame that it reads behind another step; None of a matrix."""
    behind = False
    """What comes in is, in scikit-learn, an array that another step has made."""
    sparse = False
    """The rows that it made were sparse."""
    width: int | None = None
    """How many columns it made of the training rows; None where it is not known."""
    made: Sequence[Any] | None = None
    """The columns of the frame that it made of the training rows; None of a matrix."""

    def __init__(
        self,
        worker: Worker,
        estimator: Estimator,
        path: str,
        why: str,
        *,
        series: bool = False,
        keeps_sparse: bool = False,
        weights: Array = None,
        twins: BlockNode | None = None,
    ) -> None:
        self.weights = weights
        self.worker, self.estimator, self.path, self.why = worker, estimator, path, why
        self.series, self.keeps_sparse, self.twins = series, keeps_sparse, twins
        self.own_forms = [*twins.forms()] if twins is not None else []
        self.reads = NodeInput(None, framed=False)

    def fit(self, table: Data, source: NodeInput, y: Target) -> Read:
        """Fit the worker on all rows."""
        self.behind, self.reads = source.names is None, replace(source, blocks=None)
        if source.framed and source.names is not None:
            self.named = list(source.names)
        table = self._one(table)
        rows = self._rows(table, source.read, source.form)
        params = self._weighted()
        if self.fits_only and isinstance(self.worker, HostWorker):
            self._told(partial(self.worker.fit, **params), rows, y)
            return source.read
        made = self._told(partial(self.worker.fit_transform, **params), rows, y)
        self.made = list(made.columns) if hasattr(made, "columns") else None
        made = self._checked(made, table)
        self.width = int(made.shape[1])
        return self._read(made, table)

    def fit_more(self, table: Data, source: NodeInput, y: Target) -> None:
        """Let scikit-learn's own transformer add rows to those of `fit`."""
        assert isinstance(self.worker, HostWorker)
        params = self._weighted()
        rows = self._rows(self._one(table), source.read, source.form)
        self._told(partial(self.worker.fit_more, **params), rows, y)

    def _one(self, table: Data) -> Table:
        if not isinstance(table, Table):
            raise DataError(f"{self.path} needs all rows in one table; pass X.compute()")
        return table

    def _weighted(self) -> Params:
        weights, self.weights = self.weights, None
        return {} if weights is None else {"sample_weight": weights}

    def flatten(self, flat: FlatProgram, takes: int, sparse: Callable[[], bool]) -> int:
        """Add the worker, which needs all rows at once; twins for few, where they make the same."""
        place = flat.add_whole(self, takes, sparse)
        twins = [leaf.twin for leaf in self.twins.leaves()] if self.twins is not None else []
        if self.twins is not None and all(twin.exact for twin in twins):
            self.twins.resume(self.to_sklearn(), self.reads, iter(self.own_forms))
            flat.add_for_few(self.twins, takes, place, twins)
        return place

    def read_new(self, table: Table, read: Read, form: Form) -> Read:
        """Transform all rows."""
        rows = self._rows(table, read, form)
        made = self._checked(self._told(partial(self.worker.call, "transform"), rows), table)
        if self.width not in (None, made.shape[1]):
            raise DataError(
                f"{self.path} returned {made.shape[1]} columns, but {self.width} in fit; "
                "let it return the same ones"
            )
        return self._read(made, table)

    def _rows(self, table: Table, read: Read, form: Form) -> Any:
        """Return what comes in as scikit-learn would hand it on."""
        if form == "sparse" and self.keeps_sparse:
            return write_sparse(table, read, "auto")
        first = flat(read(table.first()))
        if all(isinstance(block, Unread) for block in first):
            names = [name for block in first for name in block.names]  # type: ignore[attr-defined]
            if self.series:
                return frames.column(table.X, *names)
            if not self.behind and self.named in (None, names):
                return table.select(names)
        if self.named is not None:
            return write_frame(table, read, "auto", self.named)
        order = host_order(self.estimator) if table.device == "cpu" else "C"
        return write_matrix(table, read, "auto", order=order)

    def _told(self, work: Callable[..., Any], rows: Any, *args: Any) -> Any:
        """Return what scikit-learn makes; name the step and infinite columns in its error."""
        try:
            return work(rows, *args)
        except Exception:
            floats: Any = rows.select_dtypes("float") if isinstance(rows, pd.DataFrame) else {}
            infinite = [name for name in floats if np.isinf(floats[name]).any()]
            where = f"in the step {self.path}{f', columns {infinite}' if infinite else ''}"
            with in_both_words(DataError(where)):
                raise

    def _read(self, made: Any, table: Table) -> Read:
        """Return what reads the rows that were made."""
        if frames.is_sparse(made):
            return ReadSparse(made)
        if not frames.is_frame(made) and made.dtype.kind in "iufb":
            return lambda part: Numbers(made[part.rows])
        if table.device == "cuda":
            why = "it returns no matrix of numbers"
            raise Unsupported(Reason(self.path, why, "run the step with scikit-learn"))
        return lambda part: Objects(made, part.rows)

    def _checked(self, made: Any, table: Table) -> Any:
        self.sparse = frames.is_sparse(made)
        if self.sparse and not self.keeps_sparse:
            name = type(self.estimator).__name__
            why = f"{name} returns sparse rows, but only dense rows are supported"
            raise Unsupported(Reason(self.path, why, "run the step with scikit-learn"))
        made = made.to_pandas() if frames.library(made) == "polars" else made
        made = made if hasattr(made, "shape") else np.asarray(made)
        if len(made.shape) != 2:
            raise DataError(
                f"The output of the '{self.path}' transformer should be 2D (numpy array, scipy "
                "sparse array, dataframe)."
            )
        if made.shape[0] != table.n_rows:
            raise DataError(
                f"{self.path} returned {made.shape[0]} rows for {table.n_rows}; "
                "let it return one for each"
            )
        return made

    def makes_sparse(self, given: Form) -> bool:
        """Return whether its rows were."""
        return self.sparse

    def then(self, source: NodeInput, blocks: Read) -> NodeInput:
        """Return the columns of the returned frame, or none for a matrix."""
        return NodeInput(self.made, source.framed or self.made is not None, blocks)

    def to_sklearn(self) -> Any:
        """Return the worker's fitted scikit-learn transformer."""
        return self.worker.to_sklearn()

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Let the worker take its fitted transformer."""
        check_type(fitted, self.estimator)
        for _ in self.own_forms:
            next(forms)
        named = getattr(fitted, "feature_names_in_", None)
        self.behind, self.named = source.names is None, None if named is None else list(named)
        self.reads = source
        self.worker.resume(fitted)
