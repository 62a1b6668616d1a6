"""Estimators that learn from one partition after another, where all rows do not fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import gen_batches

from pipeline.table import frames, partitioned
from pipeline.typing import Array, Estimator, Params, Table, Target

ONCE = {
    "BernoulliNB",
    "ComplementNB",
    "GaussianNB",
    "IncrementalPCA",
    "MiniBatchKMeans",
    "MultinomialNB",
}
"""Classes of scikit-learn for which one pass over the rows is a fit."""

SUPPORTED_PARAMS = {"sample_weight"}
"""Parameters of `fit` that are cut as the rows are."""


def trains_incrementally(estimator: Estimator, params: Params) -> bool:
    """Return whether an estimator with these parameters of `fit` can learn part by part."""
    given = {name for name, value in params.items() if value is not None}
    kind = type(estimator)
    return (
        kind.__name__ in ONCE
        and kind.__module__.startswith("sklearn.")
        and given <= SUPPORTED_PARAMS
    )


@dataclass(frozen=True)
class Batch:
    """A partition that has rows: `read` computes or reads them; and what belongs to them."""

    read: Callable[[], Any]
    y: Any
    sample_weight: Any


def fit_incrementally(
    estimator: Estimator, X: Table, y: Target, sample_weight: Array = None
) -> None:
    """Fit an estimator with `partial_fit` on partitions, of which one is in memory at a time.

    Naive Bayes adds up sums, which gives the model of a `fit` of all rows; the others take steps.
    """
    known = {"classes": np.unique(y)} if is_classifier(estimator) else {}
    # Of `IncrementalPCA`, only `fit` takes sparse rows, and makes batches of them dense.
    dense = type(estimator).__name__ == "IncrementalPCA"
    for batch in read_batches(X, y, sample_weight):
        part, held = batch.read(), {"y": batch.y, "sample_weight": batch.sample_weight}
        for rows in _split_rows(estimator, *part.shape):
            some = part[rows]
            if dense and frames.is_sparse(some):
                some = some.toarray()
            given = {name: array[rows] for name, array in held.items() if array is not None}
            estimator.partial_fit(some, **given, **known)


def _split_rows(estimator: Estimator, n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield the rows of each batch of a partition."""
    if not hasattr(estimator, "batch_size"):
        return iter([slice(None)])
    # As `IncrementalPCA.fit` has it, and with the same care for a last batch that is too small.
    size = estimator.batch_size or 5 * n_columns
    least = 0
    if type(estimator).__name__ == "IncrementalPCA":
        # `transform` asks for the size, of sparse rows.
        least, estimator.batch_size_ = estimator.n_components or 0, size
    return gen_batches(n_rows, size, min_batch_size=least)


def read_batches(
    X: Table, y: Target, sample_weight: Array, folder: Path | None = None
) -> list[Batch]:
    """Return the partitions that have rows; computed by each reading, or once into a folder."""
    rows = partitioned.lengths(X)
    labels, weights = (partitioned.cut(array, rows) for array in (y, sample_weight))
    reads = [
        partial(_compute_part, part)
        if folder is None
        else _keep_on_disk(part, folder / f"{number}.npy")
        for number, part in enumerate(partitioned.partitions_of(X))
    ]
    parts = zip(rows, reads, labels, weights, strict=True)
    return [Batch(read, label, weight) for n, read, label, weight in parts if n]


def _compute_part(part: Any) -> Any:
    (rows,) = partitioned.compute([part])
    return frames.to_device(rows, "cpu")


def _keep_on_disk(part: Any, file: Path) -> Callable[[], Any]:
    rows = _compute_part(part)
    if frames.is_sparse(rows):
        file = file.with_suffix(".npz")
        sparse.save_npz(file, rows, compressed=False)
        return partial(sparse.load_npz, file)
    np.save(file, rows)
    return partial(np.load, file)
