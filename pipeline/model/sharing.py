"""What fits on the same rows of one table share: the steps before the last, and their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from pipeline.backends.identity import NotShared, identify
from pipeline.backends.xgboost.checkpoints import hash_rows
from pipeline.compile.plan import Plan, Step
from pipeline.compile.program import Program
from pipeline.model.inputs import Input, fit_input
from pipeline.system.cache import Cache
from pipeline.table import frames
from pipeline.table.shared import SharedRows
from pipeline.table.target import check_target
from pipeline.trace import record
from pipeline.typing import Target

REUSED = "reused"
"""The call of an event: a result of another call was used, for the reason in `why`."""


class Prefix(NamedTuple):
    """The first steps, fitted, and the training rows as the step after them takes them."""

    takes: Input
    steps: Sequence[Step]
    rows: Any


def begin_fit(
    X: SharedRows, y: Target, plan: Plan
) -> tuple[Input, Any, Mapping[str, Any], Sequence[str]]:
    """Return where the fit of a plan begins on shared rows: after the results of other fits.

    The steps of the plan that another fit has fitted become those. Return the input, the table as
    the first step that is not fitted takes it, further parameters of `Plan.fit`, and the keys under
    which `transform` finds results for other rows.
    """
    first = plan.ops[0]
    sharing = _Sharing(X, plan, check_target(y, X), f"{first.takes.device} {first.takes.form}")
    takes, made, done = sharing.begin(partial(fit_input, first))
    return takes, made, {"done": done, "keep": sharing.keep}, sharing.keys


class _Sharing:
    """What one fit takes from others on the same rows, and leaves to them.

    `keys` are those of the table as it is taken, of the first step, of the first two, and so on,
    as far as they may be shared.
    """

    def __init__(self, rows: SharedRows, plan: Plan, y: Target, where: str) -> None:
        self.rows, self.plan = rows, plan
        first = type(plan.steps[0].worker.estimator).__name__
        self.keys = [identify([rows.key, hash_rows(y), where, first])]
        for step, _ in pairwise(plan.steps):
            try:
                own = identify(step.worker.estimator, step.name)
                self.keys.append(identify([self.keys[-1], own, _settings(step)]))
            except NotShared as error:
                step.note(f"not shared: {error}")
                break

    def begin(self, take: Callable[[Any], tuple[Input, Any]]) -> tuple[Input, Any, int]:
        """Return what the first steps have made, and their number; or take the rows."""
        for done in range(len(self.keys) - 1, 0, -1):
            if (kept := self._cache(done).get(self.keys[done])) is not None:
                self.takes = kept.takes
                for step, fitted in zip(self.plan.steps, kept.steps, strict=False):
                    why = "another fit on the same rows computed it"
                    with record(step.name, REUSED, fitted.device, why):
                        step.continue_as(fitted)
                return kept.takes, kept.rows, done
        self.takes, X = take(self.rows.rows())
        X = _on_device(self.plan, self.rows, X, lambda table: take(table)[1])
        return self.takes, X, 0

    def keep(self, done: int, X: Any) -> None:
        """Keep the first steps, fitted, and what they have made of the training rows."""
        if done >= len(self.keys):
            return
        prefix = Prefix(self.takes, self.plan.steps[:done], X)
        self._cache(done).put(self.keys[done], prefix, frames.nbytes(X))

    def _cache(self, done: int) -> Cache:
        """Return where the rows are kept that so many steps have made."""
        return self.rows.table.cache(self.plan.steps[done].device)


def _on_device(plan: Plan, rows: SharedRows, X: Any, take: Callable[[Any], Any]) -> Any:
    """Return rows on the device of the first step, of the table there; else X, made by `take`."""
    device = plan.steps[0].device
    if device == frames.device_of(X):
        return X
    whole = rows.table.on(device, X, take)
    if whole is None:
        return X
    with record("input", REUSED, device, "the table is on this device"):
        if rows.positions is None:
            return whole
        return frames.at(whole, frames.to_device(rows.positions, device))


def _settings(step: Step) -> list[Any]:
    """Return what decides beside the estimator on what a step makes of its rows."""
    worker = step.worker
    if isinstance(worker, Program):
        names = ("dtype", "order", "why_dense", "exact_zeros", "ends")
        return [step.device, *(getattr(worker, name) for name in names)]
    return [step.device, type(worker).__qualname__, worker.dtype, worker.first]


def transform(plan: Plan, keys: Sequence[str], takes: Input, rows: Any) -> Any:
    """Return rows as the last step takes them, from what is kept of them as far as that goes.

    Rows that are not shared have been taken already. The keys are those of the fit of the plan.
    """
    if not isinstance(rows, SharedRows):
        return plan.transform(rows)
    caches = [rows.table.cache(step.device) for step in plan.steps]
    names = [f"{key} of {rows.key}" for key in keys]
    for done in range(len(keys) - 1, 0, -1):
        if (X := caches[done].get(names[done])) is not None:
            break
    else:
        X = _on_device(plan, rows, takes.take(rows.rows()), takes.take)
        done, X = 0, plan.bring(X)
    for i, (step, after) in enumerate(pairwise(plan.steps), 1):
        if i <= done:
            with record(step.name, REUSED, step.device, "computed before from the same rows"):
                continue
        X = after.bring(step.call("transform", X))
        if i < len(names):
            caches[i].put(names[i], X, frames.nbytes(X))
    return X
