"""What each kind of task predicts: how a target is described, and how answers are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from pipeline.benchmark.record.results import Agreement
from pipeline.task.metrics import part
from pipeline.task.scoring import SAMPLE
from pipeline.task.task import Kind

NEIGHBOURS = 15
"""Of a row, that two embeddings are compared by."""


def about(y_true: np.ndarray, kind: Kind, classes: Any = None, positive: Any = 1) -> str:
    """Describe the target of the test rows, so that a metric can be set beside chance.

    >>> about(np.array([0, 0, 1, 0]), "binary", positive="bad")
    "positive class 'bad' is 25.0 % of the test rows"
    >>> about(np.array([1, 0, 1, 2]), "multiclass", np.array(["a", "b", "c"]))
    "3 classes in the test rows, the largest is 'b' with 50.0 %"
    >>> about(np.array([1.0, 3.0]), "regression")
    'mean 2, standard deviation 1 over the test rows'
    """
    target: Any = part(y_true, "target")
    if kind in ("regression", "ranking"):
        said = f"mean {target.mean():.4g}, standard deviation {target.std():.4g} over the test rows"
        if kind == "regression":
            return said
        lengths = np.unique(y_true["query"], return_counts=True)[1]
        return f"{said}, in {len(lengths):,} queries of {lengths.min()} to {lengths.max()} rows"
    if kind == "binary":
        return f"positive class {positive!r} is {100 * np.mean(target):.1f} % of the test rows"
    known, sizes = np.unique(target, return_counts=True)
    share = f"{100 * sizes.max() / len(target):.1f} %"
    if kind == "clusters":
        return f"not used in training; {len(sizes)} known clusters, the largest {share}"
    names = (known if classes is None else classes[known]).tolist()
    largest = names[int(sizes.argmax())]
    return f"{len(sizes)} classes in the test rows, the largest is {largest!r} with {share}"


def agreement(ours: np.ndarray, reference: np.ndarray, kind: Kind) -> Agreement:
    """Compare the answers of two variants for the same rows.

    >>> agreement(np.array([1, 2, 2]), np.array([1, 2, 0]), "multiclass").same_decision
    0.6666666666666666
    >>> agreement(np.array([1, 1, 0]), np.array([5, 5, 7]), "clusters").adjusted_rand
    1.0
    """
    if kind == "clusters":  # whose numbers say nothing, nor does a turn of an embedding
        if ours.dtype.names is None:
            return Agreement(adjusted_rand=float(adjusted_rand_score(reference, ours)))
        return Agreement(shared_neighbours=_shared(ours, reference))
    gaps: Any = ours, reference
    same: Any = None
    if kind == "multiclass":
        same = part(ours, "prediction") == part(reference, "prediction")
        gaps = part(ours, "probability"), part(reference, "probability")
    elif kind == "binary":
        gaps = part(ours, "prediction"), part(reference, "prediction")
        same = (gaps[0] > 0.5) == (gaps[1] > 0.5)
    apart = None if gaps[0] is None or gaps[1] is None else np.abs(gaps[0] - gaps[1])
    return Agreement(
        max_difference=None if apart is None else float(apart.max()),
        mean_difference=None if apart is None else float(apart.mean()),
        same_decision=None if same is None else float(np.mean(same)),
    )


def _shared(ours: np.ndarray, reference: np.ndarray) -> float:
    """Return the share of the nearest rows that two embeddings have in common."""
    rows = np.unique(np.linspace(0, len(ours) - 1, min(SAMPLE, len(ours))).astype(int))
    count = min(NEIGHBOURS, len(rows) - 1)
    near = [
        NearestNeighbors(n_neighbors=count).fit(each["embedding"][rows]).kneighbors()[1]
        for each in (ours, reference)
    ]
    common = [len(np.intersect1d(*pair)) for pair in zip(*near, strict=True)]
    return float(np.mean(common)) / count
