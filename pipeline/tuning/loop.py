"""The loop of a search: it draws candidates, judges them fold by fold, stops or ends them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.trace import ExecutionLog
from pipeline.tuning.evaluate import Judged, Task
from pipeline.tuning.results import COMPLETE, FAILED, PRUNED, Outcome
from pipeline.tuning.space import Space
from pipeline.tuning.stopping import PairedGap, reason_to_stop
from pipeline.tuning.study import ask, begin, recall, report, seconds_of, tell, unfinished
from pipeline.tuning.workers import Slots

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import Trial


class Limits(NamedTuple):
    """What ends a search or a trial."""

    trials: int
    timeout: float | None = None
    trial_timeout: float | None = None


class Loop:
    """The trials of one search, from the first to the last.

    Parameters
    ----------
    study : optuna.study.Study
    space : Space
    slots : Slots
    n_splits : int
        Folds of a trial.
    limits : Limits
    seed : int, optional
        Of what is drawn; None where the study has a sampler of the user's.
    on_fold, on_end : callable
        Called with a task that has ended, and with a trial.

    Attributes
    ----------
    outcomes : dict of int to Outcome
    log : ExecutionLog
    interrupted : bool
        Whether Ctrl-C has ended it.
    """

    def __init__(
        self,
        study: Study,
        space: Space,
        slots: Slots,
        n_splits: int,
        limits: Limits,
        *,
        seed: int | None,
        on_fold: Callable[[Task], None],
        on_end: Callable[[Outcome], None],
    ) -> None:
        self.study, self.space, self.slots, self.n_splits = study, space, slots, n_splits
        self.limits, self.seed, self.on_fold, self.on_end = limits, seed, on_fold, on_end
        self.outcomes = {each.number: each for each in recall(study, space)}
        self.running: dict[int, tuple[Trial, Outcome, float]] = {}
        self.log, self.interrupted = ExecutionLog(), False
        self.seconds = seconds_of(study.get_trials(deepcopy=False))
        self.started = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds until no further task may begin."""
        timeout = self.limits.timeout
        return np.inf if timeout is None else self.started + timeout - time.monotonic()

    def run(self) -> None:
        """Draw and judge candidates until there are enough, or time or Ctrl-C ends the search."""
        try:
            self.unfinished = unfinished(self.study, self.space)
            while self.left > 0:
                self._fill()
                if not self.running:
                    break
                for task, judged in self.slots.wait(self.left):
                    self._take(task, judged)
        except KeyboardInterrupt:
            # A trial that was about to be written down is judged again when the search goes on.
            self.interrupted = True
            self.outcomes = {each.number: each for each in recall(self.study, self.space)}

    def _fill(self) -> None:
        """Begin trials while slots are free: first those that another process had begun."""
        while self.slots.free > 0 and self.left > 0:
            if self.unfinished:
                self._begin(*self.unfinished.pop(0))
            elif len(self.outcomes) < self.limits.trials:
                trial, params = self._draw()
                self._begin(trial, Outcome(trial.number, params))
            else:
                break

    def _draw(self) -> tuple[Trial, dict[str, Any]]:
        """Return the next candidate; the first one is the estimator, if the space holds it."""
        own = None
        if not self.outcomes:
            own = self.space.place(self.space.estimator.get_params())
        if own is None:
            return ask(self.study, self.space, self.seed)
        return begin(self.study, self.space, own), self.space.read(own)

    def _begin(self, trial: Trial, outcome: Outcome) -> None:
        self.outcomes[trial.number] = outcome
        self.running[trial.number] = trial, outcome, time.monotonic()
        self._advance(trial, outcome)

    def _take(self, task: Task, judged: Judged) -> None:
        """Take in what has come of a task, and go on with its trial, or end it."""
        trial, outcome, began = self.running[task.trial]
        self.on_fold(task)
        self.log.events.extend(judged.events)
        outcome.folds[task.fold] = judged
        report(trial, task.fold, judged)
        limit = self.limits.trial_timeout
        if judged.error or not np.isfinite(judged.score):
            why = f"fold {task.fold + 1}: the score is {judged.score}"
            self._end(trial, outcome, FAILED, judged.error or why)
        elif limit is not None and time.monotonic() - began > limit:
            self._end(trial, outcome, FAILED, f"took longer than trial_timeout={limit:g} s")
        else:
            self._advance(trial, outcome)

    def _advance(self, trial: Trial, outcome: Outcome) -> None:
        """Begin the next fold of a trial, or end it; what is known of it decides on that alone."""
        done = len(outcome.folds)
        if done == self.n_splits:
            self._end(trial, outcome, COMPLETE)
        elif done and (why := reason_to_stop(self.study, trial)):
            self._end(trial, outcome, PRUNED, why)
        elif self.left > 0:
            # If all began with the same fold, the sampler would learn what is best on that fold;
            # pruners of Optuna compare the steps of trials, and read them in order.
            first = outcome.number if isinstance(self.study.pruner, PairedGap) else 0
            fold = (first + done) % self.n_splits
            self.slots.submit(Task(trial.number, outcome.params, fold))

    def _end(self, trial: Trial, outcome: Outcome, state: str, reason: str = "") -> None:
        outcome.state, outcome.reason = state, reason
        tell(self.study, trial, outcome, self.seconds + time.monotonic() - self.started)
        del self.running[trial.number]
        self.on_end(outcome)
