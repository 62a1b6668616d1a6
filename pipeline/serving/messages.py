"""Tables and arrays as bytes between two processes, without pickle.

Rows go to the process that holds the model; what comes back may be from a process that a
bad file has taken over, so it is read as numbers and text of a stated shape, and no parser
of a rich format sees it.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.data import frames
from pipeline.data.convert import convert, from_arrow
from pipeline.errors import DataError
from pipeline.typing import Table

LARGEST = 2**31
"""Largest answer that is read, in bytes."""
_NUMBERS = "biuf"


class Call(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A method to call; the rows follow."""

    method: str
    form: Literal["frame", "matrix", "texts"]
    dtype: str = ""
    shape: list[int] = []


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of it; the bytes of an array of numbers follow."""

    error: str = ""
    dtype: str = ""
    shape: list[int] = []
    texts: list[str] | None = None


def call(method: str, X: Table) -> tuple[bytes, bytes]:
    """Return the two messages that ask for a method of some rows.

    Parameters
    ----------
    method : str
    X : table, or sequence of str
    """
    if isinstance(X, list | tuple) and X and all(isinstance(each, str) for each in X):
        table = pa.table({"text": list(X)})
        return _encoded(Call(method=method, form="texts")), _stream(table)
    X = convert(frames.to_device(X, "cpu"))
    if not frames.is_frame(X):
        X = np.ascontiguousarray(X)
        header = Call(method=method, form="matrix", dtype=X.dtype.str, shape=list(X.shape))
        return _encoded(header), X.tobytes()
    return _encoded(Call(method=method, form="frame")), _stream(_table(X))


def _table(X: pd.DataFrame) -> pa.Table:
    if not all(isinstance(name, str) for name in X.columns):
        raise DataError("a model in a process of its own takes columns with text for names")
    try:
        return pa.Table.from_pandas(X, preserve_index=False)
    except pa.ArrowException as error:
        raise DataError(f"the table cannot be sent: {error}") from error


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def rows(header: Call, data: bytes) -> Any:
    """Return the rows of a call."""
    if header.form == "matrix":
        return np.frombuffer(data, np.dtype(header.dtype)).reshape(header.shape)
    table = pa.ipc.open_stream(data).read_all()
    return table["text"].to_pylist() if header.form == "texts" else from_arrow(table)


def answer(made: Any) -> tuple[bytes, bytes]:
    """Return the two messages that hold an array."""
    made = np.asarray(made.toarray() if frames.is_sparse(made) else made)
    shape = list(made.shape)
    if made.dtype.kind in _NUMBERS:
        return _encoded(Answer(dtype=made.dtype.str, shape=shape)), made.tobytes()
    return _encoded(Answer(shape=shape, texts=[str(each) for each in made.ravel()])), b""


def failure(message: str) -> tuple[bytes, bytes]:
    """Return the two messages that hold an error."""
    return _encoded(Answer(error=message[:2000] or "no message")), b""


def result(header: bytes, data: bytes) -> np.ndarray:
    """Return the array of an answer.

    Raises
    ------
    DataError
        The answer is an error, or none that `answer` makes.
    """
    try:
        told = msgspec.json.decode(header, type=Answer)
        if told.error:
            raise DataError(told.error)
        if told.texts is not None:
            return np.array(told.texts, dtype=object).reshape(told.shape)
        dtype = np.dtype(told.dtype)
        if dtype.kind not in _NUMBERS or math.prod(told.shape) * dtype.itemsize != len(data):
            raise DataError("the answer is damaged")
        return np.frombuffer(data, dtype).reshape(told.shape)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"the answer is damaged: {error}") from error


def _encoded(message: msgspec.Struct) -> bytes:
    return msgspec.json.encode(message)
