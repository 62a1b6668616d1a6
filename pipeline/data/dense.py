"""Dense rows where scikit-learn's are sparse: only where they fit, and never in silence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pipeline.data import frames, partitioned
from pipeline.errors import Reason, Unsupported
from pipeline.trace import DENSIFY, record
from pipeline.typing import Table


@contextmanager
def densifying(
    shape: tuple[int, int], dtype: Any, device: str, step: str, why: str
) -> Iterator[None]:
    """Make sparse rows, of a shape once dense, dense inside the block, as an event of the log.

    `Unsupported` says that they do not fit in the memory that is free.
    """
    need, free = shape[0] * shape[1] * np.dtype(dtype).itemsize, partitioned.room(device)
    if partitioned.COPIES * need > free:
        raise Unsupported(
            Reason(
                step,
                f"{why}; dense, {shape[0]:,} rows of {shape[1]:,} columns are {need:,} bytes, and "
                f"{partitioned.COPIES} times that is needed: {free:,} are free",
                "group rare categories (min_frequency, max_categories), or use device='cpu' or "
                "an estimator that takes sparse rows, as LogisticRegression",
            )
        )
    with record(step, DENSIFY, device, f"{why}: {need:,} bytes"):
        yield


def densify(X: Table, step: str, why: str, order: str = "C") -> Any:
    """Return sparse rows as a dense matrix where it fits, as an event of the log.

    >>> from scipy.sparse import csr_matrix
    >>> densify(csr_matrix([[0.0, 2.0]]), "tree", "it takes no sparse rows").tolist()
    [[0.0, 2.0]]
    """
    with densifying(X.shape, X.dtype, frames.device_of(X), step, why):
        return X.toarray(order)
