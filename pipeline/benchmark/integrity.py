"""Whether two runs did the same work on the same rows: what a cheat would have to forge.

Each worker says what it read and what it fitted. A cell whose run does not match the
reference's is recorded as failed, with the reason, and no time of it is compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pipeline.typing import Estimator

NODES = 2.0
"""Factor by which the sizes of two forests of the same parameters may differ."""
_FREE = {"device", "n_jobs", "verbose", "verbosity", "nthread"}
"""Parameters that say how to compute, not what."""


def work(model: Estimator) -> dict[str, str]:
    """Return what a fitted model says of the work that was done.

    Parameters
    ----------
    model : Pipeline or Accelerated

    Returns
    -------
    dict of str to str
        Each ``parameter NAME`` of the last step, ``trees`` and ``nodes`` where it has any, and the
        number of columns that it was fitted on.
    """
    lifted = model.to_sklearn() if hasattr(model, "to_sklearn") else model
    last = lifted[-1] if isinstance(lifted, Pipeline) else lifted
    params = {name: value for name, value in last.get_params().items() if name not in _FREE}
    facts = {f"parameter {name}": repr(value) for name, value in params.items()}
    if hasattr(last, "get_booster"):
        facts["trees"] = str(last.get_booster().num_boosted_rounds())
    elif hasattr(getattr(last, "estimators_", [None])[0], "tree_"):
        facts["trees"] = str(len(last.estimators_))
        facts["nodes"] = str(sum(tree.tree_.node_count for tree in last.estimators_))
    if hasattr(last, "n_features_in_"):
        facts["columns"] = str(last.n_features_in_)
    return facts


def objection(report: Any, reference: Estimator) -> str:
    """Return why a run cannot be compared with the reference's; empty if it can.

    Parameters
    ----------
    report, reference : Report
        Of runs of the same pipeline.
    """
    if report.rows_train != reference.rows_train:
        rows = f"{report.rows_train:,} training rows, the reference {reference.rows_train:,}"
        return f"it read other data: {rows}"
    if not np.array_equal(report.y_true, reference.y_true):
        return "it read other data: the target of its test rows is not the reference's"
    if not np.array_equal(report.classes, reference.classes):
        return "it read other data: the classes of its rows are not the reference's"
    if report.stages.get("fit", 0.0) <= 0.0:
        return "it skipped work: no fit was recorded in its run"
    for name, ours in report.work.items():
        theirs = reference.work.get(name, ours)
        same = _near(ours, theirs) if name == "nodes" else ours == theirs
        if not same:
            return f"it did other work: {name} {ours}, the reference {theirs}"
    return ""


def _near(ours: str, theirs: str) -> bool:
    low, high = sorted((int(ours), int(theirs)))
    return high <= NODES * low
