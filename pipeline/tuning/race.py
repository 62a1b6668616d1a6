"""The loop of a search: it draws candidates, judges them fold by fold, stops or ends them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.optional import load
from pipeline.trace import ExecutionLog
from pipeline.tuning.evaluate import Judged, Task
from pipeline.tuning.interrupts import Interrupts
from pipeline.tuning.racing import reason_to_stop
from pipeline.tuning.results import COMPLETE, FAILED, PRUNED, Outcome
from pipeline.tuning.slots import Slots
from pipeline.tuning.space import Space
from pipeline.tuning.study import ask, unfinished

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import Trial


class _Running(NamedTuple):
    trial: Trial
    outcome: Outcome


class Listener(NamedTuple):
    """What is told of what happens."""

    judged: Callable[[Task], None]
    """Of a fold that was judged."""
    ended: Callable[[Outcome], None]
    """Of a trial that has ended."""


class Race:
    """The trials of one search, from the first to the last.

    Parameters
    ----------
    study : optuna.study.Study
    space : Space
    slots : Slots
        Where its tasks run.
    n_splits : int
        Folds of a trial.
    listener : Listener
    trials : int
        How many there are in the end.
    timeout : float, optional
        Seconds after which no further task is begun.
    seed : int, optional
        Of what is drawn; None where the study has a sampler of the user's.
    own : mapping
        The parameters of the estimator as it is.

    Attributes
    ----------
    outcomes : dict of int to Outcome
        What is known of each trial, by its number.
    log : ExecutionLog
        What ran where.
    interrupts : Interrupts
    """

    def __init__(
        self,
        study: Study,
        space: Space,
        slots: Slots,
        n_splits: int,
        listener: Listener,
        *,
        trials: int,
        timeout: float | None,
        seed: int | None,
        own: Mapping[str, Any],
    ) -> None:
        self.study, self.space, self.slots, self.n_splits = study, space, slots, n_splits
        self.listener, self.trials, self.own = listener, trials, own
        self.outcomes: dict[int, Outcome] = {}
        self.running: dict[int, _Running] = {}
        self.log, self.interrupts = ExecutionLog(), Interrupts()
        self.ask = partial(ask, study, space, seed)
        self.ends = None if timeout is None else time.monotonic() + timeout

    @property
    def over(self) -> bool:
        """Whether no further task may begin: the time is over, or Ctrl-C was pressed."""
        late = self.ends is not None and time.monotonic() >= self.ends
        return late or self.interrupts.pressed

    def run(self) -> None:
        """Draw and judge candidates until there are enough, or no more may begin."""
        with self.interrupts.held():
            if not self.study.get_trials(deepcopy=False):
                self._enqueue_own()
            for trial in unfinished(self.study):
                self._begin(trial, self.space.draw(trial))
            while not self.over:
                while self.slots.free and len(self.outcomes) < self.trials:
                    self._begin(*self.ask())
                if not self.running:
                    break
                left = None if self.ends is None else self.ends - time.monotonic()
                for task, judged in self.interrupts.allowed(partial(self.slots.wait, left)):
                    self._take(task, judged)

    def _enqueue_own(self) -> None:
        """Let the first candidate be the estimator as it is, if it is in the space."""
        own = self.space.place(self.own)
        if own is not None:
            self.study.enqueue_trial(own)

    def _begin(self, trial: Trial, params: dict[str, Any]) -> None:
        outcome = Outcome(trial.number, params)
        self.outcomes[trial.number] = outcome
        self.running[trial.number] = _Running(trial, outcome)
        self.slots.submit(Task(trial.number, params, 0))

    def _take(self, task: Task, judged: Judged) -> None:
        """Take in what has come of a task, and go on with its trial, or end it."""
        trial, outcome = self.running[task.trial]
        self.listener.judged(task)
        self.log.events.extend(judged.events)
        outcome.folds[task.fold] = judged
        if judged.error or np.isnan(judged.score):
            self._end(trial, outcome, FAILED, judged.error or "its score is nan")
            return
        trial.report(judged.score, task.fold + 1)
        if len(outcome.folds) == self.n_splits:
            self._end(trial, outcome, COMPLETE)
        elif why := reason_to_stop(self.study, trial):
            self._end(trial, outcome, PRUNED, why)
        elif not self.over:
            self.slots.submit(task._replace(fold=task.fold + 1))

    def _end(self, trial: Trial, outcome: Outcome, state: str, reason: str = "") -> None:
        outcome.state, outcome.reason = state, reason
        if reason:
            trial.set_user_attr("reason", reason)
        states = load("optuna.trial.TrialState")
        told = {COMPLETE: states.COMPLETE, PRUNED: states.PRUNED, FAILED: states.FAIL}[state]
        self.study.tell(trial, outcome.score if state == COMPLETE else None, state=told)
        del self.running[trial.number]
        self.listener.ended(outcome)
