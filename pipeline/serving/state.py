"""``state.json`` and ``arrays.npz``: everything of a model but its estimators' own files."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final
from zipfile import BadZipFile

import msgspec
import numpy as np

from pipeline.data.drift import ColumnProfile
from pipeline.data.schema import Column, Schema
from pipeline.errors import DataError
from pipeline.estimator.inputs import DaskInput, Input, LabelInput, TableInput, TextInput
from pipeline.serving.codec import Decoder, Document, Encoder
from pipeline.serving.steps import State
from pipeline.typing import ReadParams

STATE: Final = "state.json"
ARRAYS: Final = "arrays.npz"


class ModelState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``state.json``; what it refers to is in ``arrays.npz``."""

    estimator: Document = msgspec.field(name="spec")
    settings: Document
    """Parameters of `Accelerated` but the estimator and the device."""
    inputs: Document = msgspec.field(name="intake")
    attributes: Document
    """Those that scikit-learn's conventions ask for, as ``classes_``."""
    steps: list[tuple[str, State]]
    profile: dict[str, ColumnProfile]
    """Of the training rows, by name of the column."""


def files(state: ModelState, arrays: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    """Return the two files."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    text = msgspec.json.format(msgspec.json.encode(state), indent=1) + b"\n"
    return {STATE: text, ARRAYS: buffer.getvalue()}


def read(files: Mapping[str, bytes]) -> tuple[ModelState, Decoder]:
    """Return the state and what decodes its documents.

    Raises
    ------
    DataError
        A file is missing, or is not what `files` makes.
    """
    lost = [name for name in (STATE, ARRAYS) if name not in files]
    if lost:
        raise DataError(f"the model has no {', '.join(lost)}")
    try:
        state = msgspec.json.decode(files[STATE], type=ModelState)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{STATE}: not the state of a model: {error}") from error
    return state, Decoder(_arrays(files[ARRAYS]))


def _arrays(data: bytes) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            return dict(stored)
    except (BadZipFile, ValueError, OSError, EOFError, KeyError, NotImplementedError) as error:
        raise DataError(f"{ARRAYS}: not a file of arrays: {error}") from error
    except (MemoryError, RuntimeError, SyntaxError, TypeError) as error:
        raise DataError(f"{ARRAYS}: damaged: {type(error).__name__}: {error}") from error


def pack_inputs(inputs: Input, encoder: Encoder) -> Document:
    """Return the document of what a model takes in."""
    held: dict[str, Any] = {"kind": _KINDS[type(inputs)]}
    if isinstance(inputs, TableInput):
        held |= _schema(inputs.schema)
    elif isinstance(inputs, DaskInput):
        held |= {"columns": inputs.columns, "n_features": inputs.n_features, "kinds": inputs.kinds}
    return encoder.encode(held, "the columns")


def _schema(schema: Schema) -> dict[str, Any]:
    columns = schema.columns
    return {
        "columns": None
        if columns is None
        else [(name, c.kind, c.zone, c.categorical) for name, c in columns.items()],
        "n_features": schema.n_features,
        "used": None if schema.used is None else list(schema.used),
    }


def unpack_inputs(document: Document, decoder: Decoder) -> Input:
    """Return what a model takes in.

    Raises
    ------
    DataError
        The document is not one of `pack_inputs`.
    """
    try:
        held = decoder.decode(document)
        return _INPUTS[held["kind"]](held)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{STATE}: the columns of the model are damaged: {error}") from error


def _rows(held: ReadParams) -> TableInput:
    columns = held["columns"]
    if columns is not None:
        columns = {name: Column(*rest) for name, *rest in columns}
    return TableInput(Schema(columns, held["n_features"], held["used"]))


def _partitioned(held: ReadParams) -> DaskInput:
    made = DaskInput.__new__(DaskInput)
    made.columns, made.n_features = held["columns"], held["n_features"]
    # Earlier files have no kinds.
    made.kinds = held.get("kinds") or {str(name): "other" for name in made.columns or ()}
    return made


_KINDS = {
    TableInput: "Rows",
    DaskInput: "Partitioned",
    TextInput: "Documents",
    LabelInput: "Labels",
}
"""What files call them."""

_INPUTS: Mapping[str, Any] = {
    "Rows": _rows,
    "Partitioned": _partitioned,
    "Documents": lambda held: TextInput(),
    "Labels": lambda held: LabelInput(),
}
