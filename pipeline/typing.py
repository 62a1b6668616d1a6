"""What parameters hold, by name: the libraries of the GPU have no types that could be checked.

Every one is `Any` to mypy. A name says which of several libraries' classes is meant, and how many
rows it has, where a class cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

Table: TypeAlias = Any
"""Rows: a pandas or cuDF frame, a NumPy or CuPy array, a CSR matrix, or partitions of one."""

Target: TypeAlias = Any
"""One entry a row: a pandas, cuDF or Dask series, a NumPy or CuPy array, a list; or None."""

Estimator: TypeAlias = Any
"""An estimator of scikit-learn, XGBoost or cuML, or one with their interface."""

Array: TypeAlias = Any
"""A NumPy or CuPy array."""

Column: TypeAlias = Any
"""A pandas or cuDF series or index."""

Name: TypeAlias = Any
"""The name of a column: a string, or what else pandas allows."""

Names: TypeAlias = Sequence[Any]
"""Names of columns."""

Params: TypeAlias = dict[str, Any]
"""Keywords of a call, or parameters of an estimator."""

ReadParams: TypeAlias = Mapping[str, Any]
"""`Params` that are only read."""

DType: TypeAlias = Any
"""A type of NumPy, pandas, cuDF or Arrow, or its name."""

Form: TypeAlias = Literal["dense", "sparse", "either", "unknown"]
"""What rows are, before one is read."""
