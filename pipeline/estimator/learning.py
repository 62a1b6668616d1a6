"""What `fit` does around the steps of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline import intake
from pipeline.checkpoints import Checkpoints
from pipeline.optional import load
from pipeline.plan import Plan
from pipeline.preprocessing.program import Program
from pipeline.provenance import code


def split(plan: Plan) -> tuple[Plan, Plan]:
    """Return the steps before the last one, and the last."""
    return Plan(plan.spec, plan.steps[:-1]), Plan(plan.spec, plan.steps[-1:])


def remember(plan: Plan, takes: intake.Intake) -> None:
    """Tell the step that reads the table what its cells were, where it encodes them."""
    first = plan.steps[0].worker
    if isinstance(first, Program) and isinstance(takes, intake.Rows):
        first.origins = takes.origins


def why_no_more_rows(plan: Plan) -> str:
    """Return why a fitted transformer can learn from no more rows; empty where it can."""
    found = [s.worker.forgotten for s in plan.steps if isinstance(s.worker, Program)]
    return "; ".join(filter(None, found)) if len(found) == len(plan.steps) else ""


def prepared(params: dict[str, Any], head: Plan, takes: intake.Intake) -> dict[str, Any]:
    """Prepare the tables of XGBoost's `eval_set` as the training rows were."""
    if not params.get("eval_set"):
        return params
    sets = intake.eval_sets(params["eval_set"], takes)
    if head.steps:
        sets = ((head.call("transform", X), y) for X, y in sets)
    return {**params, "eval_set": list(sets)}


def checkpoints_of(model: Any) -> Checkpoints:
    """Return what keeps the trees of a model's training, before there are any."""
    folder = model.checkpoint
    if folder is None:
        return Checkpoints(None)
    seeds = {
        name: value
        for name, value in model.spec.get_params(deep=True).items()
        if name.rpartition("__")[2] == "random_state" and value is not None
    }
    told = [f"{name}={code(value)}" for name, value in sorted(seeds.items())]
    settings = f"dtype={model.dtype}, rank_error={model.rank_error}"
    return Checkpoints(
        Path(folder),
        seed=", ".join(told),
        spec=f"{code(model.spec)}, {settings}",
        versions=f"XGBoost {load('xgboost.__version__')}",
    )
