"""What types of Arrow hold: numbers, text, dates; categories are what they stand for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is one of numbers."""
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of text, or of categories of it."""
    kind = decoded_type(kind)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def is_date(kind: pa.DataType) -> bool:
    """Whether a type is one of dates or moments."""
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values that categories stand for, and any other type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded(values: Any) -> Any:
    """Return categories as the values that they stand for, and any other values themselves.

    >>> decoded(pa.array(["a", "b", "a"]).dictionary_encode()).to_pylist()
    ['a', 'b', 'a']
    """
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
