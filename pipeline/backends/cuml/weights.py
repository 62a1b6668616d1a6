"""Weights of rows and classes, scaled so that cuML's quasi-Newton solver finds their optimum.

It divides the value of what it minimises by the sum of the weights and the gradient by the
number of rows. So weights that sum to 1 end at zero coefficients; both are one only where the
weights have the mean 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from pipeline.table.target import encode_labels
from pipeline.typing import ReadParams, Target


def scale_weights(
    taken: ReadParams, strength: tuple[str, ...], y: Target, given: Any, mean: float = 1.0
) -> tuple[Any, dict[str, Any]]:
    """Return weights of the rows with another mean, and parameters of cuML's class for this fit.

    `taken` are its parameters, `strength` those that multiply the sum of the losses: the mean of
    the given weights goes over to them. `mean` is the one that cuML's solver needs.

    >>> scale_weights({"C": 1.0}, ("C",), None, np.array([0.125, 0.375]))
    (array([0.5, 1.5]), {'C': 0.25})
    """
    class_weight = taken.get("class_weight")
    if isinstance(class_weight, Mapping) or (given is None and mean != 1):
        each, average = _of_classes(class_weight, np.ravel(y), given)
    else:  # those of "balanced" classes leave the mean as it is
        each, average = {}, 1.0 if given is None else float(np.mean(given))
    average = average or 1.0
    changed = {name: taken[name] * average for name in strength}
    if given is not None:
        return np.asarray(given) * (mean / average), changed
    if each:
        changed["class_weight"] = {label: at * mean / average for label, at in each.items()}
    return None, changed


def _of_classes(class_weight: Any, y: np.ndarray, given: Any) -> tuple[dict[Any, float], float]:
    """Return the weight of each class, and the mean weight of a row."""
    codes, classes = encode_labels(y)
    if class_weight == "balanced":
        counts = np.bincount(codes)
        each = counts.sum() / (len(counts) * counts)
    else:
        chosen = None if class_weight is None else dict(class_weight)
        each = np.asarray(compute_class_weight(chosen, classes=classes, y=classes))
    mean = np.bincount(codes, given) @ each / len(codes)
    return dict(zip(classes.tolist(), each.tolist(), strict=True)), float(mean)
