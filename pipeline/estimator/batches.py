"""Learning batch by batch: whether an estimator can, and why not."""

from __future__ import annotations

from pipeline.errors import Reason, Unsupported
from pipeline.estimator.routing import runs_on_blocks
from pipeline.planning.plan import Plan
from pipeline.preprocessing.engine.unsupported import obstacles_to_batches
from pipeline.typing import Estimator


def learns_in_batches(model: Estimator) -> bool:
    """Return whether there is a `partial_fit`; the error says why a transformer has none."""
    if runs_on_blocks(model.estimator) and (
        found := obstacles_to_batches(model.estimator, "estimator")
    ):
        raise AttributeError(f"{Unsupported(*found)}")
    if hasattr(model, "plan_") and (forgotten := why_no_more_rows(model.plan_)):
        raise AttributeError(forgotten)
    return runs_on_blocks(model.estimator) or hasattr(model.estimator, "partial_fit")


def refuse_sparse_batches(estimator: Estimator) -> None:
    """Refuse batches of sparse rows where scikit-learn learns from no batches.

    Raises
    ------
    Unsupported
        The estimator has no `partial_fit` of its own.
    """
    if not hasattr(estimator, "partial_fit"):
        why = "scikit-learn learns from sparse rows here, and not from batches"
        raise Unsupported(Reason(type(estimator).__name__.lower(), why, "call fit with all rows"))


def why_no_more_rows(plan: Plan) -> str:
    """Return why a fitted transformer can learn from no more rows; empty where it can."""
    found = [program.forgotten for program in plan.programs]
    return "; ".join(filter(None, found)) if len(found) == len(plan.steps) else ""
