"""How sure a difference of two models' metrics is: both judged on the same rows, a group left out.

The delete-a-group jackknife (Kott, "The delete-a-group jackknife", Journal of Official
Statistics 17, 2001) works for any metric and costs one evaluation a group: with G groups
of the test rows at random and d_g the difference without group g, the variance of d is
(G - 1) / G * sum((d_g - mean(d_g))²), and the interval is Student's with G - 1 degrees
of freedom.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.stats import t as student

from pipeline.compare.results import Interval

GROUPS = 20
LEVEL = 0.95
Metric = Callable[[Any, Any], float]


def differences(
    metrics: Mapping[str, Metric], truth: np.ndarray, ours: np.ndarray, reference: np.ndarray
) -> dict[str, Interval]:
    """Return the interval of each metric's difference, ours less the reference's.

    Parameters
    ----------
    metrics : mapping of str to callable
        ``metric(truth, prediction)``.
    truth, ours, reference : numpy.ndarray, one entry a row
        Of the same test rows in the same order.

    Returns
    -------
    dict of str to Interval
        Without the metrics that have no value where a group is left out, as where it held
        all rows of a class.

    Examples
    --------
    >>> truth, guess = np.arange(100) % 2, np.arange(100) / 100
    >>> def accuracy(truth, guess):
    ...     return float(np.mean(truth == (guess > 0.5)))
    >>> differences({"accuracy": accuracy}, truth, guess, guess)
    {'accuracy': Interval(low=0.0, high=0.0)}
    """
    group = _groups(truth)
    kept = [group != number for number in range(GROUPS)]
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a metric that has no value; it has no interval then
        for name, metric in metrics.items():
            interval = _interval(metric, truth, ours, reference, kept)
            if interval is not None:
                found[name] = interval
    return found


def _groups(truth: np.ndarray) -> np.ndarray:
    """Return the group of each row, at random; the rows of a query stay together."""
    random = np.random.default_rng(0)
    if "query" not in (truth.dtype.names or ()):
        return random.permutation(len(truth)) % GROUPS
    known, number = np.unique(truth["query"], return_inverse=True)
    return np.asarray(random.permutation(len(known))[number] % GROUPS)


def _interval(
    metric: Metric, truth: Any, ours: Any, reference: Any, kept: list[np.ndarray]
) -> Interval | None:
    try:
        whole = metric(truth, ours) - metric(truth, reference)
        without = np.array(
            [metric(truth[k], ours[k]) - metric(truth[k], reference[k]) for k in kept]
        )
    except ValueError:
        return None
    n = len(without)
    error = float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))
    reach = float(student.ppf((1 + LEVEL) / 2, n - 1)) * error
    if not np.isfinite(whole + reach):
        return None
    return Interval(low=float(whole - reach), high=float(whole + reach))
