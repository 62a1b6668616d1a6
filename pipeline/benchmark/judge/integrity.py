"""Whether two runs did the same work on the same rows: what a cheat would have to forge.

Each worker says what it read and what it fitted. A cell whose run does not match the
reference's is recorded as failed, with the reason, and no time of it is compared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pipeline.task.cautions.caution import Caution, in_rank
from pipeline.typing import Estimator

_ITERATES = ("sklearn.linear_model.", "sklearn.svm.", "sklearn.neural_network.")
"""Where ``n_iter_`` at ``max_iter`` means that a solver gave up; of trees it counts them."""

NODES = 2.0
"""Factor by which the sizes of two forests of the same parameters may differ."""
_FREE = {"device", "n_jobs", "verbose", "verbosity", "nthread"}
"""Parameters that say how to compute, not what."""


def work(model: Estimator) -> dict[str, str]:
    """Return what a fitted model says of the work that was done.

    That is each ``parameter NAME`` of the last step, ``trees`` and ``nodes`` where it has any, the
    number of ``columns`` that it was fitted on, and under ``gave up`` the parameter at which its
    solver stopped before it converged.
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
    if _gave_up(last):
        step = f"{lifted.steps[-1][0]}__" if isinstance(lifted, Pipeline) else ""
        facts["gave up"] = f"{step}max_iter={last.max_iter}"
    return facts


def _gave_up(estimator: Estimator) -> bool:
    """Tell whether the solver of a fitted estimator of scikit-learn stopped at ``max_iter``."""
    most, done = getattr(estimator, "max_iter", None), getattr(estimator, "n_iter_", None)
    if not most or most < 1 or done is None or getattr(estimator, "tol", 0) is None:
        return False
    return type(estimator).__module__.startswith(_ITERATES) and bool(np.max(done) >= most)


def unconverged(
    work: Mapping[tuple[str, str], Mapping[str, str]], mute: Collection[str] = ()
) -> list[str]:
    """Return a caution for each pipeline of which a solver gave up, unless it is muted.

    >>> work = {("linear", "cpu"): {"gave up": "max_iter=9"}, ("linear", "cuda"): {}}
    >>> unconverged(work)[0].split(": ")[:2]
    ['warning', 'linear stopped at max_iter=9 before its solver converged (cpu)']
    """
    found: dict[tuple[str, str], list[str]] = {}
    for (pipeline, variant), facts in work.items():
        if where := facts.get("gave up"):
            found.setdefault((pipeline, where), []).append(variant)
    cautions = [
        Caution(
            "unconverged",
            f"{pipeline} stopped at {where} before its solver converged ({', '.join(variants)}): "
            "models and times of the variants differ by where each stops; raise max_iter, or "
            "scale the columns.",
        )
        for (pipeline, where), variants in found.items()
    ]
    return in_rank(cautions, mute)


def objection(report: Any, reference: Estimator) -> str:
    """Return why a run cannot be compared with the reference's; empty if it can."""
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
        if name == "nodes":
            low, high = sorted((int(ours), int(theirs)))
            theirs = ours if high <= NODES * low else theirs
        if ours != theirs:
            return f"it did other work: {name} {ours}, the reference {theirs}"
    return ""
