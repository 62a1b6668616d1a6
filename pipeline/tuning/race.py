"""The loop of a search: it draws candidates, judges them fold by fold, stops or ends them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.trace import ExecutionLog
from pipeline.tuning.evaluate import Judged, Task
from pipeline.tuning.interrupts import Interrupts
from pipeline.tuning.racing import LOOK, Racing, first_fold, reason_to_stop
from pipeline.tuning.results import COMPLETE, FAILED, PRUNED, Outcome
from pipeline.tuning.slots import Slots
from pipeline.tuning.space import Space
from pipeline.tuning.study import ask, recall, report, seconds_before, tell, unfinished

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
    look : callable
        Returns the share of its trees that a candidate is looked at with first; 1 for no look.

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
        look: Callable[[Mapping[str, Any]], float],
    ) -> None:
        self.study, self.space, self.slots, self.n_splits = study, space, slots, n_splits
        self.listener, self.trials, self.own, self.look = listener, trials, own, look
        self.warned: set[tuple[type[Warning], str]] = set()
        self.outcomes: dict[int, Outcome] = {}
        self.running: dict[int, _Running] = {}
        self.log, self.interrupts = ExecutionLog(), Interrupts()
        self.ask = partial(ask, study, space, seed)
        self.seconds, self.started = seconds_before(study), time.monotonic()
        self.unfinished: list[Trial] = []
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
            self.outcomes = {each.number: each for each in recall(self.study, self.space)}
            self.unfinished = unfinished(self.study)
            while not self.over:
                self._fill()
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

    def _fill(self) -> None:
        """Begin trials while slots are free: first those that another process had begun."""
        while self.slots.free and not self.over:
            if self.unfinished:
                trial = self.unfinished.pop(0)
                self._begin(trial, self.outcomes[trial.number])
            elif len(self.outcomes) < self.trials:
                trial, params = self.ask()
                self._begin(trial, Outcome(trial.number, params))
            else:
                break

    def _begin(self, trial: Trial, outcome: Outcome) -> None:
        self.outcomes[trial.number] = outcome
        self.running[trial.number] = _Running(trial, outcome)
        self._advance(trial, outcome)

    def _take(self, task: Task, judged: Judged) -> None:
        """Take in what has come of a task, and go on with its trial, or end it."""
        trial, outcome = self.running[task.trial]
        self.listener.judged(task)
        self.log.events.extend(judged.events)
        self._warn(judged)
        looked = task.share < 1
        if looked:
            outcome.look = judged
        else:
            outcome.folds[task.fold] = judged
        report(self.study, trial, LOOK if looked else task.fold + 1, judged)
        if judged.error or not np.isfinite(judged.score):
            why = f"fold {task.fold + 1}: the score is {judged.score}"
            self._end(trial, outcome, FAILED, judged.error or why)
        else:
            self._advance(trial, outcome)

    def _advance(self, trial: Trial, outcome: Outcome) -> None:
        """Begin the next fold of a trial, or end it; what is known of it decides on that alone."""
        done = len(outcome.folds)
        begun = done or outcome.look
        if done == self.n_splits:
            self._end(trial, outcome, COMPLETE)
        elif begun and (why := reason_to_stop(self.study, trial)):
            self._end(trial, outcome, PRUNED, why)
        elif not self.over:
            share = 1.0 if begun else self.look(outcome.params)
            self.slots.submit(Task(trial.number, outcome.params, self._next_fold(outcome), share))

    def _next_fold(self, outcome: Outcome) -> int:
        """Return the first fold that is to come; Optuna's own pruners read them in order."""
        races = isinstance(self.study.pruner, Racing)
        first = first_fold(outcome.number, self.n_splits) if races else 0
        folds = ((first + place) % self.n_splits for place in range(self.n_splits))
        return next(fold for fold in folds if fold not in outcome.folds)

    def _warn(self, judged: Judged) -> None:
        """Issue the warnings of a task, each text once in a search."""
        for each in dict.fromkeys(judged.warned):
            if each not in self.warned:
                self.warned.add(each)
                category, text = each
                warnings.warn(text, category, stacklevel=2)

    def _end(self, trial: Trial, outcome: Outcome, state: str, reason: str = "") -> None:
        outcome.state, outcome.reason = state, reason
        tell(self.study, trial, outcome, self.seconds + time.monotonic() - self.started)
        del self.running[trial.number]
        self.listener.ended(outcome)
