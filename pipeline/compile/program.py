"""A preprocessing program: fit once, then tables in, one matrix or frame out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import methodcaller
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from pipeline.blocks import table as tables
from pipeline.blocks.block import Numbers, by_columns
from pipeline.blocks.csr import write_sparse
from pipeline.blocks.dask import Data, Partitions
from pipeline.blocks.table import Read, Reading, Table
from pipeline.compile.build import BuildOptions, build
from pipeline.compile.flat import FlatProgram, warn, warnings_of
from pipeline.compile.nodes import BlockNode, Keeps, NodeInput, TransformerNode
from pipeline.compile.own import choose_own
from pipeline.compile.rules import compile_transformer, obstacles_to_batches
from pipeline.compile.spec import Op, RowSpec, columns_of
from pipeline.compile.workers import WorkerNode
from pipeline.errors import ConfigError, DataError, Reason, Unsupported
from pipeline.table import frames
from pipeline.table.convert import Origin, without_na
from pipeline.table.output import container
from pipeline.table.partitioned import densify, densifying
from pipeline.twins import TWINS
from pipeline.typing import Estimator, Names

_WHOLE = (pd.DataFrame, np.ndarray)
"""Tables in the memory of the host."""


class Program:
    """A scikit-learn transformer, run on blocks of rows where the table lives.

    Where scikit-learn's `set_output` asks for a frame, a frame of the table's library comes out.
    Else it is a matrix: the `dtype` "auto" is what scikit-learn's would be, and `order` what its
    reader on a GPU would not copy. Statistics are float64 in any case.

    With an `op`, what has no twin is run on all rows at once, and on the host what scikit-learn's
    own does faster; without it, twins run all, or it is an error. `step` is the path of the
    transformer in the estimator; empty if it is all steps.

    `why_dense` says why rows are dense where scikit-learn's are sparse; it is empty where they are
    sparse, as those of a GPU's partitions never are. With `exact_zeros`, the next step
    distinguishes zeros from absent values: beside sparse rows, numbers are scikit-learn's. If it
    `ends`, nothing follows: rows may be added to those of `fit`.

    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> Program(StandardScaler()).fit_transform(np.array([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        dtype: str = "auto",
        step: str = "estimator",
        *,
        order: str = "C",
        op: Op | None = None,
        why_dense: str = "dense rows were requested",
        exact_zeros: bool = False,
        ends: bool = True,
    ) -> None:
        self.sparse, self.why_dense = not why_dense, why_dense
        self.exact_zeros, self.ends = exact_zeros, ends
        self.op, self.strict = op, op is None
        self.order = order_of(estimator, order)
        self.estimator, self.dtype, self.step = estimator, dtype, step
        self.node: BlockNode | None = None
        self.flat: FlatProgram | None = None
        self._warnings: list[str] = []
        self._sparse: bool | None = None
        self._last_works_on_all = False
        self.width = self.widest = 0
        self.head: pd.DataFrame | None = None
        self.resumed = self.named = False
        self.own: Mapping[str, str] = {}
        self.framed = container(estimator) != "default"
        self.origins: Mapping[Any, Origin] = {}
        self.weights: list[tuple[Any, Any]] = []

    def fit(self, X: Any, y: Any = None, **params: Any) -> Program:
        """Learn the statistics of a table.

        The target is on the host.
        """
        self._fit(X, y, keeps="small", fits_only=True)
        assert self.node is not None
        warn(warnings_of(leaf.twin for leaf in self.node.transformed()))
        return self

    def partial_fit(self, X: Any, y: Any = None, **params: Any) -> Program:
        """Add the statistics of more rows to those of the calls before.

        `Unsupported` says that a step learns from the output of another one, which changes with
        every batch; `ConfigError` that `fit` kept no statistics to add to.
        """
        if against := obstacles_to_batches(self._compiled(self.takes)):
            raise Unsupported(*against)
        if self.resumed:
            raise ConfigError(
                f"{self.step}: a saved model does not store the statistics that partial_fit adds "
                "to; fit again on all rows"
            )
        if self.node is None:
            self._fit(X, y, keeps="all")
            return self
        if self.forgotten:
            raise ConfigError(self.forgotten)
        table = as_table(X, self.name)
        if self.weights:  # of an only transformer: containers of scikit-learn learn no batches
            (leaf,), ((_, weights),) = self.node.ends(), self.weights
            assert isinstance(leaf, TransformerNode | WorkerNode)
            leaf.weights = weights
        add = self.node.fit_more if isinstance(self.node, WorkerNode) else self.node.fit
        add(table, self._source(table), y)
        self._freeze()
        return self

    @property
    def forgotten(self) -> str:
        """Why no rows can be added to those of `fit`; empty where they can."""
        if workers := [each for each in self.workers if each.path not in self.own]:
            return f"{workers[0].path} learns from all rows at once; call fit"
        adds_itself = self.step in self.own and hasattr(self.estimator, "partial_fit")
        if self.node is None or self.resumed or adds_itself:
            return ""
        kept = {id(leaf): leaf.stats for leaf in self.node.leaves()}
        for leaf in self.node.ends():
            if kept.get(id(leaf)) is None and leaf.estimator is not None:
                return (
                    f"{type(leaf.estimator).__name__}: fit kept no statistics that partial_fit can "
                    "add to; call partial_fit for the first rows as well"
                )
        return ""

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn, and return the matrix of the training rows, shape (n_rows, width)."""
        table, read = self._fit(X, y, keeps="small")
        return self._write(table, lambda _: read)

    def transform(self, X: Any) -> Any:
        """Return the matrix of a table, shape (n_rows, width), on its device."""
        assert self.flat is not None
        table = Table(X) if type(X) in _WHOLE else as_table(X, self.name)
        table.widest = max(table.widest, self.widest)
        return self._write(table, self.flat.bind)

    def resume(
        self,
        fitted: Estimator,
        head: pd.DataFrame,
        forms: Sequence[type],
        *,
        framed: bool,
        workers: Sequence[str] = (),
        own: Sequence[str] = (),
    ) -> None:
        """Restore what `fit` learned from the scikit-learn transformer of a saved model.

        The other arguments are what `serving.steps.ProgramState` holds. `DataError` says that it is
        not the fitted form of this program.
        """
        self.own = dict.fromkeys(own, "as in the fit")
        op = self._compiled(replace(self.takes, **columns_of(head)))
        self.node = build(op, head, self.options(workers=workers))
        n_workers = len(workers) + len(own)
        if len(list(self.node.forms())) != len(forms) or len(self.workers) != n_workers:
            raise DataError(
                f"{self.step}: the saved steps do not match the estimator; fit and save it again"
            )
        self.node.resume(fitted, NodeInput(list(head.columns), framed), iter(forms))
        self.widest, self.named = self.node.widest, framed
        dtypes = [str(dtype) for dtype in head.dtypes]
        self.head, self.resumed = header(list(head.columns), dtypes, known_cells(self.node)), True
        self._freeze()

    def _fit(self, X: Any, y: Any, *, keeps: Keeps, fits_only: bool = False) -> tuple[Data, Read]:
        table = as_table(X, self.name)
        self.head, self.resumed, self.named = frames.head(table.top), False, table.framed
        on_host = isinstance(table, Table) and table.device == "cpu"
        if isinstance(table, Table):
            small = table.n_rows <= tables.CHUNK_ROWS
            table.keeps = on_host and small and table.n_rows * table.widest <= tables.KEPT_CELLS
        op = self._compiled(_spec_of(table, self.head))
        self.own = self._choose_own(op) if on_host and keeps != "all" else {}
        options, source = self.options(keeps=keeps, on_host=on_host), self._source(table)
        node = build(op, self.head, options)
        self.node, read = node.learn(table, source, y, fits_only=fits_only)
        self.widest = self.node.widest
        self._freeze()
        return table, read

    def _freeze(self) -> None:
        """Decide how new rows are transformed."""
        assert self.node is not None
        assert self.head is not None
        self.flat = FlatProgram(self.node, self.head)
        ends = self.node.ends()
        self._warnings = warnings_of([end.twin for end in ends if isinstance(end, TransformerNode)])
        self._last_works_on_all = [*map(type, ends)] == [WorkerNode]
        # What workers make is seen when they have run.
        self._sparse = None if WorkerNode in map(type, ends) else self.makes_sparse

    @property
    def takes(self) -> RowSpec:
        """What is known of the rows that come in."""
        return RowSpec() if self.op is None else self.op.takes

    def _compiled(self, takes: RowSpec) -> Op:
        """Return what runs the transformer on such rows."""
        if self.op is None or self.op.takes != takes:
            self.op = compile_transformer(self.estimator, self.step, takes)
        return self.op

    def _choose_own(self, op: Op) -> dict[str, str]:
        """Return the paths of what scikit-learn's own steps run in place of twins, and why."""
        asked = self.framed or self.weights or self.strict
        if asked or (self.dtype == "float64" and "float32" in map(str, op.takes.dtypes)):
            return {}
        if self.ends and type(self.estimator) not in TWINS and not obstacles_to_batches(op):
            return {}  # scikit-learn's own would keep nothing that more rows are added to
        return choose_own(op, exact_zeros=self.exact_zeros)

    def _source(self, table: Data) -> NodeInput:
        return NodeInput(table.names, table.framed, origins=self.origins)

    def options(
        self,
        *,
        keeps: Keeps = "none",
        on_host: bool = False,
        workers: Collection[str] | None = None,
    ) -> BuildOptions:
        """Return how the tree of this program is built."""
        return BuildOptions(
            keeps,
            self.weights,
            self.strict,
            on_host,
            workers,
            self.sparse and not self.framed,
            self.own,
        )

    def _write(self, table: Data, reading: Reading) -> Any:
        assert self.node is not None
        if self._warnings:
            warn(self._warnings)
        names = self._names() if self.framed else []
        if isinstance(table, Partitions):
            sparse = self.makes_sparse and frames.device_of(table.like) == "cpu"
            made = table.write(reading, self.dtype, names, sparse=sparse)
            self.width = int(made.shape[1])
            return made
        read = reading(table)
        if self.makes_sparse if self._sparse is None else self._sparse:
            made = write_sparse(table, read, self.dtype)
        elif self._last_works_on_all and not names and table.device == "cpu":
            made = self._hand_on(table, read)
        elif names:
            made = tables.write_frame(table, read, self.dtype, names)
        else:
            making = None
            if table.device == "cuda" and self._sparse_in_sklearn:
                making = partial(densifying, device="cuda", step=self.name, why=self.why_dense)
            made = tables.write_matrix(table, read, self.dtype, order=self.order, making=making)
        self.width = int(made.shape[1])
        return made

    def _hand_on(self, table: Table, read: Read) -> Any:
        """Return what a worker has made of all rows, with no second copy."""
        block: Any = read(table.whole)
        if not isinstance(block, Numbers):  # of few rows, which twins have read
            return tables.write_matrix(table, read, self.dtype, order=self.order)
        return block.values if self.dtype == "auto" else block.values.astype(self.dtype, copy=False)

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.step or type(self.estimator).__name__.lower()

    @property
    def makes_sparse(self) -> bool:
        """Whether rows are sparse."""
        return self.sparse and self._sparse_in_sklearn

    @property
    def _sparse_in_sklearn(self) -> bool:
        """Whether those of scikit-learn would be."""
        return not (self.node is None or self.framed) and self.node.makes_sparse("dense")

    def _names(self) -> list[Any]:
        """Return the names of the columns of scikit-learn's frame; none where it makes a matrix."""
        assert self.node is not None
        fitted = self.node.to_sklearn()
        if self.workers:
            # Those of the frames that they make, which need not have the method for names.
            return list(getattr(self._transform_head(fitted), "columns", ()))
        return list(fitted.get_feature_names_out())

    @property
    def workers(self) -> list[WorkerNode]:
        """What no twin runs, in the order of the estimator."""
        nodes = () if self.node is None else self.node.ends()
        return [node for node in nodes if isinstance(node, WorkerNode)]

    def trains_distributed(self, call: str, X: Any, y: Any, params: dict[str, Any]) -> str:
        """Return how it learns from partitions; nothing where it needs all rows at once."""
        return "" if self._against else "the statistics of the partitions are merged"

    def why_gathered(self, call: str, X: Any, y: Any, params: dict[str, Any]) -> str:
        """Return why they have to be gathered, where others like them have not."""
        return f"{', '.join(reason.step for reason in self._against)} learns from all rows at once"

    @property
    def _against(self) -> list[Reason]:
        """Why no twins run all of it."""
        return [reason for op in self._compiled(self.takes).tree for reason in op.reasons]

    def call(self, method: str, X: Any, **params: Any) -> Any:
        """Return the matrix: `transform` is the one method of a program.

        `Unsupported` says that another one is requested, which its last step may have.
        """
        if method != "transform":
            why = f"preprocessing has no {method} on blocks"
            raise Unsupported(Reason(self.name, why, f"use to_sklearn().{method}(X)"))
        return self.transform(X, **params)

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn transformer."""
        assert self.node is not None
        fitted = self.node.to_sklearn()
        if self.framed and self.workers:
            # A union takes names from what it has transformed; what cannot will say so then.
            with suppress(AttributeError, TypeError, ValueError):
                self._transform_head(fitted)
        return fitted

    def _transform_head(self, fitted: Estimator) -> Any:
        """Return what scikit-learn makes of a row of the table, in the table's form."""
        assert self.head is not None
        row = without_na(self.head)
        return fitted.transform(row if self.named else row.to_numpy())

    def cast(self) -> tuple[str, Any] | None:
        """Return the step that casts scikit-learn's numbers to the type of this program.

        None where they have the same type.
        """
        assert self.head is not None
        narrow = any(str(kind) == "float32" for kind in self.head.dtypes)
        if self.dtype == "auto" or (self.dtype == "float64" and not narrow):
            return None
        kind: Any = self.dtype
        row: Any = np.zeros((1, self.width))
        if self.framed:
            names = self._names()
            kind, row = dict.fromkeys(self._made(names), kind), pd.DataFrame(row, columns=names)
        how = FunctionTransformer(
            methodcaller("astype", kind), accept_sparse=True, feature_names_out="one-to-one"
        )
        return f"to_{self.dtype}", how.fit(row)

    def _made(self, names: list[Any]) -> list[Any]:
        """Return the names of the columns that are made, and not passed on as they were."""
        assert self.flat is not None
        table = Table(self.head)
        block = self.flat.bind(table)(table.first())
        return tables.split_names(block, names)[0]


def order_of(estimator: Estimator, other: str) -> str:
    """Return the order of the matrix that a transformer asks for, or another one.

    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> order_of(PolynomialFeatures(order="F"), "C"), order_of(PolynomialFeatures(), "A")
    ('F', 'C')
    """
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    asked: str = getattr(last, "order", other)
    return asked if other == "A" or asked == "F" else other


def known_cells(node: BlockNode) -> dict[Any, np.ndarray]:
    """Return a known value of each column that an encoder reads."""
    known: dict[Any, np.ndarray] = {}
    for twin in [leaf.twin for leaf in node.leaves()]:
        names, learnt = twin.names, getattr(twin.fitted, "categories_", ())
        if names is not None:
            known = {name: c[:1] for name, c in zip(names, learnt, strict=False)} | known
    return {name: cell for name, cell in known.items() if len(cell)}


def _spec_of(table: Data, head: pd.DataFrame) -> RowSpec:
    """Return what is known of the rows of a table."""
    known = columns_of(head)
    if not isinstance(table, Table):
        return RowSpec(frames.device_of(table.like), **known)
    by_column = table.framed or by_columns(table.X)
    return RowSpec(table.device, n_rows=table.n_rows, order="F" if by_column else "C", **known)


def as_table(X: Any, step: str) -> Data:
    """Return a table, or the partitions of a Dask frame, as the program of a step reads them."""
    if frames.is_partitioned(X):
        return Partitions(X)
    if frames.library(X) == "polars":  # which the step before has made
        X = X.to_pandas()
    if not frames.is_sparse(X):
        return Table(X)
    why = "preprocessing reads dense rows"
    if frames.device_of(X) == "cpu":  # where scikit-learn's keep them sparse
        raise DataError(f"{step}: {why}; let the step before return a dense matrix")
    return Table(densify(X, step, why))


def header(
    names: Names, dtypes: Sequence[str], known: Mapping[Any, np.ndarray] = MappingProxyType({})
) -> pd.DataFrame:
    """Return a row of columns of these types, with values that encoders know, or any.

    >>> header(["n", "t"], ["float32", "category"], {"t": np.array(["a"])}).to_dict("list")
    {'n': [1.0], 't': ['a']}
    """
    any_cell = {dtype: _cell(None, dtype) for dtype in {*dtypes}}
    row = pd.concat(
        [
            _cell(known[name][0], dtype) if name in known else any_cell[dtype]
            for name, dtype in zip(names, dtypes, strict=True)
        ],
        axis=1,
    )
    row.columns = pd.Index(names, tupleize_cols=False)
    return row


def _cell(value: Any, dtype: Any) -> pd.Series:
    if dtype == "category":
        return pd.Series(["" if value is None else value]).astype("category")
    for candidate in (1, "", None) if value is None else (value, 1, "", None):
        try:
            return pd.Series([candidate]).astype(dtype)
        except (TypeError, ValueError, ImportError):
            continue
    return pd.Series([None], dtype=object)
