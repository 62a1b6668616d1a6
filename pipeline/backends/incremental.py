"""Estimators that learn from one partition after another, where all rows do not fit in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.class_weight import compute_class_weight

from pipeline.data import frames, partitioned
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

EPOCHS = {"MLPClassifier", "MLPRegressor", "Perceptron", "SGDClassifier", "SGDRegressor"}
"""Classes of scikit-learn that pass over the rows until they learn no more."""

BATCHED = {"IncrementalPCA", "MiniBatchKMeans"}
"""Those of `ONCE` that learn from `batch_size` rows at a time."""

SUPPORTED_PARAMS = {"sample_weight"}
"""Parameters of `fit` that are cut as the rows are."""


def trains_incrementally(estimator: Estimator, params: Params) -> bool:
    """Return whether an estimator with these parameters of `fit` can learn part by part."""
    given = {name for name, value in params.items() if value is not None}
    return (
        type(estimator).__name__ in ONCE | EPOCHS
        and type(estimator).__module__.startswith("sklearn.")
        and hasattr(estimator, "partial_fit")  # not the one of an MLP with solver="lbfgs"
        and given <= SUPPORTED_PARAMS
    )


@dataclass(frozen=True)
class Batch:
    """A partition that has rows, and what belongs to them.

    Parameters
    ----------
    read : callable
        Makes or reads the rows, shape (n_rows, n_columns).
    y, sample_weight : numpy.ndarray, shape (n_rows,), or None
    """

    read: Callable[[], Any]
    y: Any
    sample_weight: Any

    def given(self, rows: slice = slice(None)) -> dict[str, Any]:
        """Return what `partial_fit` takes of these rows beside them."""
        held = {"y": self.y, "sample_weight": self.sample_weight}
        return {name: array[rows] for name, array in held.items() if array is not None}


def fit_incrementally(
    estimator: Estimator, X: Table, y: Target, sample_weight: Array = None
) -> None:
    """Fit an estimator with `partial_fit` on partitions, of which one is in memory at a time.

    Naive Bayes adds up, and comes to the model that `fit` makes of all rows. The others take
    steps, partition by partition: `IncrementalPCA` and `MiniBatchKMeans` in one pass, the rest in
    epochs, each in another order of the partitions, which are prepared once and kept in a
    temporary folder. Epochs end after `max_iter` of them, or by the rule of scikit-learn's
    `early_stopping`: once the score has not grown by `tol` in `n_iter_no_change` epochs. It is the
    score of each partition just before it is learnt from.
    """
    params = estimator.get_params(deep=False)
    changed = _replace_params(params, y)
    estimator.set_params(**changed)
    try:
        if type(estimator).__name__ in ONCE:
            _fit_once(estimator, read_batches(X, y, sample_weight), y)
        else:
            with TemporaryDirectory(prefix="incremental-") as folder:
                _fit_epochs(estimator, read_batches(X, y, sample_weight, Path(folder)), y)
    finally:
        estimator.set_params(**{name: params[name] for name in changed})


def read_batches(
    X: Table, y: Target, sample_weight: Array, folder: Path | None = None, least_rows: int = 0
) -> list[Batch]:
    """Return the partitions that have rows; made anew by each reading, or once into a folder.

    Partitions that follow each other are one batch, as long as it has at most `least_rows`.

    Raises
    ------
    DataError
        `y` has another length than X.
    """
    rows = partitioned.lengths(X)
    for array in (y, sample_weight):
        partitioned.check_rows(array, sum(rows))
    reads = [
        partial(_compute_part, part)
        if folder is None
        else _keep_on_disk(part, folder / f"{number}.npy")
        for number, part in enumerate(partitioned.partitions_of(X))
    ]
    groups = _group_neighbours(rows, least_rows)
    sizes = [sum(rows[group]) for group in groups]
    cuts = zip(groups, sizes, _cut(y, sizes), _cut(sample_weight, sizes), strict=True)
    return [Batch(partial(_stack, reads[g], n), label, weight) for g, n, label, weight in cuts if n]


def _group_neighbours(rows: Sequence[int], most: int) -> list[slice]:
    """Return neighbours that have at most so many rows together; no more than one if they have.

    >>> _group_neighbours([3, 3, 3, 9, 1], 6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    starts, held = [0], 0
    for number, n in enumerate(rows):
        if number and held + n > most:
            starts.append(number)
            held = 0
        held += n
    return [slice(start, end) for start, end in pairwise([*starts, len(rows)])]


def _stack(reads: Sequence[Callable[[], Any]], n_rows: int) -> Any:
    """Return partitions as one matrix; of dense ones, no more than one is in memory twice."""
    part = reads[0]()
    if len(reads) == 1:
        return part
    if frames.is_sparse(part):
        return partitioned.concatenate([part, *(read() for read in reads[1:])])
    whole, start = np.empty((n_rows, *part.shape[1:]), part.dtype), len(part)
    whole[:start] = part
    for read in reads[1:]:
        part = read()
        whole[start : start + len(part)] = part
        start += len(part)
    return whole


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


def _cut(array: Array, rows: Sequence[int]) -> list[Any]:
    if array is None:
        return [None] * len(rows)
    return np.split(array, np.cumsum(rows)[:-1])


def _replace_params(params: Params, y: Target) -> dict[str, Any]:
    """Return the parameters that `partial_fit` refuses, as what comes to the same."""
    changed: dict[str, Any] = {"early_stopping": False} if params.get("early_stopping") else {}
    if params.get("class_weight") == "balanced":
        labels = np.unique(y)
        weights = compute_class_weight("balanced", classes=labels, y=y)
        changed["class_weight"] = dict(zip(labels.tolist(), weights.tolist(), strict=True))
    return changed


def _find_classes(estimator: Estimator, y: Target) -> dict[str, Any]:
    """Return what a classifier has to know of all rows before it sees the first."""
    return {"classes": np.unique(y)} if is_classifier(estimator) else {}


def _fit_once(estimator: Estimator, batches: Sequence[Batch], y: Target) -> None:
    known = _find_classes(estimator, y)
    # Of `IncrementalPCA`, only `fit` takes sparse rows, and makes batches of them dense.
    dense = type(estimator).__name__ == "IncrementalPCA"
    for batch in batches:
        X = batch.read()
        for rows in _split_rows(estimator, *X.shape):
            some = X[rows]
            if dense and frames.is_sparse(some):
                some = some.toarray()
            estimator.partial_fit(some, **batch.given(rows), **known)


def _split_rows(estimator: Estimator, n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield the rows of a partition that are learnt from together."""
    name = type(estimator).__name__
    if name not in BATCHED:
        return iter([slice(None)])
    # As `IncrementalPCA.fit` has it, and with the same care for a last batch that is too small.
    size = estimator.batch_size or 5 * n_columns
    least = 0
    if name == "IncrementalPCA":
        # `transform` asks for the size, of sparse rows.
        least, estimator.batch_size_ = estimator.n_components or 0, size
    return gen_batches(n_rows, size, min_batch_size=least)


def _fit_epochs(estimator: Estimator, batches: Sequence[Batch], y: Target) -> None:
    known = _find_classes(estimator, y)
    order = check_random_state(estimator.random_state)
    tol, best, waited = estimator.tol, -np.inf, 0
    for _ in range(estimator.max_iter):
        shuffled = [batches[i] for i in order.permutation(len(batches))]
        score = _fit_epoch(estimator, shuffled, known)
        waited = waited + 1 if tol is not None and score < best + tol else 0
        best = max(best, score)
        if waited >= estimator.n_iter_no_change:
            return
    if tol is not None:
        name = type(estimator).__name__
        warnings.warn(
            f"{name}: the score was still growing after max_iter={estimator.max_iter} epochs",
            ConvergenceWarning,
            stacklevel=2,
        )


def _fit_epoch(estimator: Estimator, batches: Sequence[Batch], known: Params) -> float:
    """Learn from every partition; return the mean score of those that were met by a model."""
    scores, sizes = [], []
    for batch in batches:
        X = batch.read()
        if hasattr(estimator, "n_features_in_"):
            scores.append(estimator.score(X, **batch.given()))
            sizes.append(X.shape[0])
        estimator.partial_fit(X, **batch.given(), **known)
    return float(np.average(scores, weights=sizes)) if scores else -np.inf
