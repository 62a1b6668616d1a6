"""Between the steps of a fitted plan and the parts of a model folder.

Between a fitted preprocessing program and its state: columns, leaves, one neutral row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from pipeline.backends.base import HostModel
from pipeline.backends.cuml.estimator import Cuml
from pipeline.backends.label_encoder import Labels
from pipeline.backends.xgboost.estimator import XGBoostModel
from pipeline.errors import DataError, Reason, Unsupported
from pipeline.planning.classify import named_steps
from pipeline.planning.lower import make_host_step
from pipeline.planning.plan import Plan, Step
from pipeline.preprocessing.engine.blocks import Categories, Dates, Numbers
from pipeline.preprocessing.engine.build import build
from pipeline.preprocessing.engine.nodes import (
    Branch,
    ColumnTransformerNode,
    FeatureUnionNode,
    Node,
    TransformerNode,
)
from pipeline.preprocessing.engine.program import Program
from pipeline.serving import allowlist
from pipeline.serving.codec import Decoder, Document, Encoder
from pipeline.typing import Array, DType, Estimator

FORMS: Mapping[str, type] = {form.__name__: form for form in (Categories, Dates, Numbers)}


class ColumnState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of the table that a program was fitted on."""

    name: Document
    type: str
    value: Document
    """One that every step takes; scikit-learn fits a `ColumnTransformer` on a row of them."""


class LeafState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One transformer of a program: how it reads its columns, and its fitted original."""

    form: str
    names: Document
    fitted: Document


class Blocks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="blocks"):
    """A preprocessing program, its leaves in order."""

    head: list[ColumnState]
    leaves: list[LeafState]
    unions: list[Document]
    """The row of zeros of each `FeatureUnion`: its width, or the names of its columns."""
    width: int
    dtype: Literal["auto", "float32", "float64"] | None = None
    """Of its matrix, from which the estimator behind it has learnt; earlier files have none."""


def pack(program: Program, encoder: Encoder) -> Blocks:
    """Return the state of a fitted program.

    No row of the training table is in it where a made one serves as well: a category that
    each encoder knows, and ones for numbers.
    """
    assert program.node is not None
    assert program.head is not None
    nodes = list(walk(program.node))
    leaves = [
        _leaf(node, encoder, program.step) for node in nodes if isinstance(node, TransformerNode)
    ]
    unions = [_shape(node.row) for node in nodes if isinstance(node, FeatureUnionNode)]

    def state(head: pd.DataFrame) -> Blocks:
        return Blocks(
            head=_columns(head, encoder, program.step),
            leaves=leaves,
            unions=[encoder.encode(shape, program.step) for shape in unions],
            width=program.width,
            dtype=program.dtype,  # type: ignore[arg-type]
        )

    made = state(_neutral(program.node, program.head))
    return made if _serves(made, program, encoder) else state(program.head)


def _serves(state: Blocks, program: Program, encoder: Encoder) -> bool:
    """Return whether scikit-learn makes the same transformer of a state."""
    again = Program(program.estimator, program.dtype, program.step, rank_error=program.rank_error)
    try:
        resume(again, state, Decoder(encoder.arrays))
        made = again.to_sklearn()
    except (TypeError, ValueError):  # of the errors of this package, DataError is one
        return False
    wanted = program.to_sklearn()
    return all(
        getattr(made, name, None) == getattr(wanted, name, None)
        for name in ("output_indices_", "sparse_output_")
    )


def _leaf(leaf: TransformerNode, encoder: Encoder, where: str) -> LeafState:
    twin = leaf.twin
    names = None if twin.names is None else list(twin.names)
    return LeafState(
        form=leaf.form.__name__,
        names=encoder.encode(names, where),
        fitted=encoder.encode(twin.fitted, f"{where}.{type(twin.estimator).__name__}"),
    )


def _columns(head: pd.DataFrame, encoder: Encoder, where: str) -> list[ColumnState]:
    return [
        ColumnState(
            name=encoder.encode(name, where),
            type=str(dtype),
            value=encoder.encode(_plain(head.iloc[0, j]), where),
        )
        for j, (name, dtype) in enumerate(head.dtypes.items())
    ]


def _plain(value: Array) -> Any:
    """Return a cell as what a file can hold; what no step takes is left out."""
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return str(value)
    return value if isinstance(value, bool | int | float | str | np.generic) else None


def walk(node: Node) -> Iterator[Node]:
    """Return a node and all below it, in the order of the estimator."""
    yield node
    for each in node.children:
        yield from walk(each)


def _neutral(node: Node, head: pd.DataFrame) -> pd.DataFrame:
    """Return a row that is not of the training table, and that the encoders know."""
    values: dict[Any, Any] = {}
    for parallel in walk(node):
        for branch in parallel.branches if isinstance(parallel, ColumnTransformerNode) else ():
            values.update(_known(branch))
    columns = {name: _cell(values.get(name), str(t)) for name, t in head.dtypes.items()}
    return _framed(columns)


def _known(branch: Branch) -> dict[Any, Any]:
    """Return a value of each column that the encoder of a branch has learnt."""
    for leaf in walk(branch.node):
        learnt = (
            getattr(leaf.twin.fitted, "categories_", ())
            if isinstance(leaf, TransformerNode)
            else ()
        )
        names = branch.names or ()
        if len(learnt) == len(names) and all(len(values) for values in learnt):
            return {name: values[0] for name, values in zip(names, learnt, strict=True)}
    return {}


def _cell(value: Array, dtype: DType) -> pd.Series:
    """Return one value as a column of a type, any value where None is given."""
    if dtype == "category":
        return pd.Series([("" if value is None else value)]).astype("category")
    for candidate in (value, 1, "", None):
        try:
            return pd.Series([candidate]).astype(dtype)
        except (TypeError, ValueError, ImportError):
            continue
    return pd.Series([None], dtype=object)


def _framed(columns: Mapping[Any, pd.Series]) -> pd.DataFrame:
    made = pd.concat(list(columns.values()), axis=1)
    made.columns = pd.Index(list(columns), tupleize_cols=False)
    return made


def _shape(row: Any) -> Any:
    return list(row.columns) if hasattr(row, "columns") else int(row.shape[1])


def _row(shape: Any) -> Any:
    if isinstance(shape, int):
        return np.zeros((1, shape))
    return pd.DataFrame(np.zeros((1, len(shape))), columns=shape)


def resume(program: Program, state: Blocks, decoder: Decoder) -> None:
    """Make an unfitted program the fitted one that `pack` took the state of.

    Raises
    ------
    DataError
        The state is not that of such a program.
    """
    columns = {decoder.decode(c.name): _cell(decoder.decode(c.value), c.type) for c in state.head}
    if not columns:
        raise DataError(f"{program.step}: the state has no columns")
    head = _framed(columns)
    program.dtype = state.dtype or program.dtype
    node = build(program.estimator, head, program.step, program.options())
    leaves = [each for each in walk(node) if isinstance(each, TransformerNode)]
    unions = [each for each in walk(node) if isinstance(each, FeatureUnionNode)]
    if (len(leaves), len(unions)) != (len(state.leaves), len(state.unions)):
        raise DataError(f"{program.step}: the state is that of another program")
    for leaf, held in zip(leaves, state.leaves, strict=True):
        _resume_leaf(leaf, held, decoder, program.step)
    for union, shape in zip(unions, state.unions, strict=True):
        union.row = _row(decoder.decode(shape))
    program.node, program.head, program.width = node, head, state.width
    program.resumed = True


def _resume_leaf(leaf: TransformerNode, state: LeafState, decoder: Decoder, where: str) -> None:
    if state.form not in FORMS:
        raise DataError(f"{where}: {state.form!r} is no form of a block")
    leaf.form = FORMS[state.form]
    leaf.twin.names = decoder.decode(state.names)
    leaf.twin.resume(fitted_form(leaf.twin.estimator, state.fitted, decoder, where))


def fitted_form(estimator: BaseEstimator, document: Document, decoder: Decoder, where: str) -> Any:
    """Return the estimator of a document, which is that of a estimator.

    Raises
    ------
    DataError
        It is another one.
    """
    fitted = decoder.decode(document)
    if type(fitted) is not type(estimator):
        raise DataError(f"{where}: holds {type(fitted).__name__}, not {type(estimator).__name__}")
    return fitted


class Learnt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From which matrix an estimator has learnt, where its rows were made one."""

    dtype: Literal["float32", "float64"]
    given: Annotated[str, msgspec.Meta(pattern="^(bool|u?int(8|16|32|64)|float(16|32|64))$")]
    """Type of the rows."""
    columns: int | list[str]
    """How many there were, or their names."""


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="file"):
    """An estimator in a file of its own."""

    file: str
    kind: Literal["booster", "sklearn"]
    learnt: Learnt | None = None


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="kept"):
    """An estimator as a document."""

    fitted: Document


State = Blocks | File | Kept


class Packer:
    """Takes fitted plans apart.

    Attributes
    ----------
    encoder : Encoder
    files : dict of str to bytes
        Parts of the folder.
    """

    def __init__(self) -> None:
        self.encoder = Encoder()
        self.files: dict[str, bytes] = {}

    def plan(self, plan: Plan) -> list[tuple[str, State]]:
        """Return name and state of every step, and keep the parts."""
        estimators = dict(named_steps(plan.estimator))
        return [(step.name, self._step(step, estimators.get(step.name))) for step in plan.steps]

    def _step(self, step: Step, estimator: Estimator) -> State:
        worker = step.worker
        if isinstance(worker, Program):
            return pack(worker, self.encoder)
        if isinstance(worker, Labels):
            return Kept(fitted=self.encoder.encode(worker.to_sklearn(), step.name))
        if isinstance(worker, XGBoostModel):
            booster = worker.native.get_booster()
            return self._file("ubj", bytes(booster.save_raw("ubj")), "booster")
        made = self._file(
            "skops", allowlist.dumps(worker.to_sklearn(), estimator, step.name), "sklearn"
        )
        return msgspec.structs.replace(made, learnt=_learnt(worker))

    def _file(self, suffix: str, data: bytes, kind: Literal["booster", "sklearn"]) -> File:
        # Names of steps may be anything; those of files may not.
        name = f"step-{len(self.files)}.{suffix}"
        self.files[name] = data
        return File(file=name, kind=kind)


def _learnt(worker: Any) -> Learnt | None:
    if worker.row is None:
        return None
    named = hasattr(worker.row, "columns")
    columns = list(worker.row.columns) if named else worker.row.shape[1]
    given = str(np.asarray(worker.row).dtype)
    return Learnt(dtype=worker.dtype, given=given, columns=columns)


def _recall(worker: Any, learnt: Learnt | None, fitted: Estimator) -> None:
    """Make a model learn and answer from the type of matrix that the saved one did."""
    worker.dtype, worker.row = "auto", None
    if learnt is None:
        return
    columns = learnt.columns
    width = columns if isinstance(columns, int) else len(columns)
    if width != fitted.n_features_in_:
        raise DataError(
            f"{type(fitted).__name__} knows {fitted.n_features_in_} columns, and the state says "
            f"that it learnt from {width}"
        )
    row = np.zeros((1, width), learnt.given)
    worker.dtype = learnt.dtype
    worker.row = row if isinstance(columns, int) else pd.DataFrame(row, columns=columns)


class Unpacker:
    """Puts states back into lowered plans.

    Parameters
    ----------
    decoder : Decoder
    files : mapping of str to bytes
        The parts of the folder.
    fallback : bool
        What the device cannot take over may run on the host.
    """

    def __init__(self, decoder: Decoder, files: Mapping[str, bytes], *, fallback: bool) -> None:
        self.decoder, self.files, self.fallback = decoder, files, fallback

    def plan(self, plan: Plan, states: list[tuple[str, State]]) -> None:
        """Make a lowered plan the fitted one.

        Raises
        ------
        DataError
            The states are not those of the plan's steps.
        Unsupported
            A step cannot be taken over by the device, and `fallback` is off.
        """
        saved = [name for name, _ in states]
        if [step.name for step in plan.steps] != saved:
            raise DataError(_other_steps(saved, plan))
        estimators = dict(named_steps(plan.estimator))
        for step, (_, state) in zip(plan.steps, states, strict=True):
            self._step(step, state, estimators.get(step.name))

    def _step(self, step: Step, state: State, estimator: Estimator) -> None:
        worker = step.worker
        if isinstance(state, Blocks):
            if not isinstance(worker, Program):
                raise DataError(f"{step.name}: this is no preprocessing")
            resume(worker, state, self.decoder)
        elif isinstance(state, File) and state.kind == "booster":
            if not isinstance(worker, XGBoostModel):
                raise DataError(f"{step.name}: {type(estimator).__name__} is not XGBoost's")
            worker.resume(self._bytes(state.file))
        elif isinstance(state, File):
            fitted = allowlist.loads(self._bytes(state.file), estimator, state.file)
            self._model(step, fitted, estimator)
            _recall(step.worker, state.learnt, fitted)
        else:
            fitted = fitted_form(estimator, state.fitted, self.decoder, step.name)
            self._model(step, fitted, estimator)

    def _bytes(self, name: str) -> bytes:
        if name not in self.files:
            raise DataError(f"there is no part {name!r}")
        return self.files[name]

    def _model(self, step: Step, fitted: Estimator, estimator: Estimator) -> None:
        worker = step.worker
        if isinstance(worker, HostModel | Labels):
            worker.native = fitted
            return
        try:
            self._upload(step, fitted, estimator)
        except Unsupported as refused:
            if not self.fallback and step.device != "cpu":
                raise
            host = make_host_step(step.name, estimator, refused.reasons, asked=step.device)
            step.continue_as(host)
            step.worker.native = fitted  # type: ignore[attr-defined]

    def _upload(self, step: Step, fitted: Estimator, estimator: Estimator) -> None:
        if not isinstance(step.worker, Cuml):
            why = f"a saved {type(estimator).__name__} has no way onto the GPU"
            raise Unsupported(Reason(step.name, why, "use device='auto', or fit it there"))
        step.worker.resume(fitted)


def _other_steps(saved: Sequence[str], plan: Plan) -> str:
    """Return what is the matter where the steps that were saved are not those of a plan."""
    here = [step.name for step in plan.steps]
    if saved != [name for name, _ in named_steps(plan.estimator)]:
        return f"the steps of the state, {saved}, are not those of the estimator, {here}"
    (together, *_) = (name for name in here if name not in saved)
    return (
        f"an older version of this package saved {saved}, and this one fits {together!r} as one "
        "program; fit the model again, or load the scikit-learn pipeline that "
        "`python -m pipeline run` wrote beside it, whose name ends in .skops"
    )
