"""``model.skops`` and ``state.json``: a fitted model without its boosters.

The first holds the estimators and other Python objects: names of columns, and the classes. The
second holds values whose types can be checked before they are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from sklearn.base import BaseEstimator

from pipeline.errors import DataError
from pipeline.model.as_given import GivenInput
from pipeline.model.inputs import DaskInput, Input, LabelInput, TextInput
from pipeline.serving import allowlist
from pipeline.serving.manifest import AGAIN
from pipeline.serving.steps import BoosterState, Packed, State
from pipeline.table.drift import ColumnProfile
from pipeline.table.schema import Column, Schema

MODEL: Final = "model.skops"
STATE: Final = "state.json"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of `Accelerated` but the estimator, the device and the checkpoint."""

    dtype: Literal["auto", "float32", "float64"]
    fallback: bool | None
    host_bytes: int | None
    profile: bool


class InputState(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What a model takes in; the names of the columns are in ``model.skops``."""

    kind: Literal["table", "partitions", "texts", "labels", "given"]
    n_features: int | None = None
    columns: list[Column] | None = None
    sparse: bool = False
    column: str | None = None
    """Of texts."""


class SavedState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``state.json``."""

    settings: Settings
    inputs: InputState
    steps: list[tuple[str, State]]
    profile: dict[str, ColumnProfile]
    """Of the training rows, by name of the column."""
    output: Literal["default", "pandas", "polars"] | None = None
    """What `set_output` of the model chose."""


class SavedObjects(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``model.skops``."""

    estimator: BaseEstimator
    """Unfitted."""
    classes: Any
    """An array, a list of arrays, or None."""
    names: list[Any] | None
    """Of the columns that the model takes."""
    used: list[Any] | None
    """Those that some step reads."""
    steps: list[tuple[list[Any] | None, Any]]
    """Names of the columns and fitted estimator of each step."""
    background: tuple[int, Any] | None = None
    """Of a linear model: the number of its training rows, and the means of their columns."""


def encode(state: SavedState, objects: SavedObjects) -> dict[str, bytes]:
    """Return the two files; `ConfigError` says what cannot be kept without pickle."""
    text = msgspec.json.format(msgspec.json.encode(state), indent=1) + b"\n"
    return {STATE: text, MODEL: allowlist.dump_skops(msgspec.structs.asdict(objects))}


def decode(files: Mapping[str, bytes]) -> tuple[SavedState, SavedObjects]:
    """Return what the two files hold; `ConfigError` says that types in one are not trusted."""
    if lost := [name for name in (STATE, MODEL) if name not in files]:
        raise DataError(f"the model has no {', '.join(lost)}; {AGAIN}")
    state = msgspec.json.decode(files[STATE], type=SavedState)
    try:
        return state, msgspec.convert(allowlist.loads(files[MODEL], MODEL), SavedObjects)
    except msgspec.ValidationError as error:
        raise DataError(f"{MODEL}: not a model: {error}; {AGAIN}") from error


def packed_steps(
    state: SavedState, objects: SavedObjects, files: Mapping[str, bytes]
) -> list[tuple[str, Packed]]:
    """Return the names of the steps, and what was kept of them."""
    boosters = [step.file for _, step in state.steps if isinstance(step, BoosterState)]
    if {*boosters, STATE, MODEL} != set(files) or len(state.steps) != len(objects.steps):
        others = sorted(files)
        raise DataError(f"{STATE}: does not belong to the model of the files {others}; {AGAIN}")
    pairs = zip(state.steps, objects.steps, strict=True)
    return [(name, Packed(step, names, fitted, files)) for (name, step), (names, fitted) in pairs]


def pack_inputs(inputs: Input) -> InputState:
    """Return the state of what a model takes in, without the names."""
    if isinstance(inputs, GivenInput):
        return InputState(kind="given")
    if isinstance(inputs, TextInput):
        return InputState(kind="texts", column=inputs.column)
    if isinstance(inputs, LabelInput):
        return InputState(kind="labels")
    assert isinstance(inputs, DaskInput | Schema)
    width, sparse = inputs.n_features, inputs.sparse
    if isinstance(inputs, Schema):
        held = None if inputs.columns is None else [*inputs.columns.values()]
        return InputState(kind="table", n_features=width, columns=held, sparse=sparse)
    columns = [Column(kind) for kind in inputs.kinds.values()]
    return InputState(kind="partitions", n_features=width, columns=columns, sparse=sparse)


def unpack_inputs(
    state: InputState, names: Sequence[Any] | None, used: list[Any] | None, *, in_order: bool
) -> Input:
    """Return what a model takes in."""
    if state.kind in ("texts", "labels"):
        return TextInput(state.column) if state.kind == "texts" else LabelInput()
    assert state.n_features is not None
    columns = None if names is None else dict(zip(names, state.columns or (), strict=True))
    if state.kind == "table":
        schema = Schema(columns, state.n_features, used)
        schema.sparse, schema.in_order = state.sparse, in_order
        return schema
    kinds = {str(name): column.kind for name, column in (columns or {}).items()}
    known = None if names is None else list(names)
    return DaskInput(known, state.n_features, kinds, state.sparse, in_order)
