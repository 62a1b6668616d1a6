"""What each kind of task predicts: how a target is described, and how answers are compared."""

from __future__ import annotations

import numpy as np

from pipeline.compare.results import Agreement
from pipeline.task import Kind


def about(truth: np.ndarray, kind: Kind) -> str:
    """Describe the target of the test rows, so that a metric can be set beside chance.

    Parameters
    ----------
    truth : numpy.ndarray, shape (n_test,)
    kind : {"binary", "multiclass", "regression"}

    Examples
    --------
    >>> about(np.array([0, 0, 1, 0]), "binary")
    'class 1 is 25.0 % of the test rows'
    >>> about(np.array([3, 1, 3, 2]), "multiclass")
    '3 classes in the test rows, the largest 50.0 %'
    >>> about(np.array([1.0, 3.0]), "regression")
    'mean 2, standard deviation 1 over the test rows'
    """
    if kind == "regression":
        return f"mean {truth.mean():.4g}, standard deviation {truth.std():.4g} over the test rows"
    if kind == "binary":
        return f"class 1 is {np.mean(truth):.1%} of the test rows".replace("%", " %")
    sizes = np.unique(truth, return_counts=True)[1]
    share = f"{sizes.max() / len(truth):.1%}".replace("%", " %")
    return f"{len(sizes)} classes in the test rows, the largest {share}"


def agreement(ours: np.ndarray, reference: np.ndarray, kind: Kind) -> Agreement:
    """Compare the answers of two variants for the same rows.

    Parameters
    ----------
    ours, reference : numpy.ndarray, shape (n_test,)
    kind : {"binary", "multiclass", "regression"}

    Examples
    --------
    >>> agreement(np.array([1, 2, 2]), np.array([1, 2, 0]), "multiclass").same_decision
    0.6666666666666666
    """
    if kind == "multiclass":
        same = float(np.mean(ours == reference))
        return Agreement(max_difference=None, mean_difference=None, same_decision=same)
    apart = np.abs(ours - reference)
    same = (ours > 0.5) == (reference > 0.5)
    return Agreement(
        max_difference=float(apart.max()),
        mean_difference=float(apart.mean()),
        same_decision=float(same.mean()) if kind == "binary" else None,
    )
