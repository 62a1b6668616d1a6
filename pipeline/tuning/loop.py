"""The loop of a search: it draws candidates, scores them fold by fold, and stops bad ones."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.system.progress import Say, progress
from pipeline.trace import ExecutionLog
from pipeline.tuning.evaluate import Judged, Task
from pipeline.tuning.space import Space
from pipeline.tuning.stopping import reason_to_stop
from pipeline.tuning.study import ask, begin, recall, report, seconds_of, tell, unfinished
from pipeline.tuning.trial_workers import InProcess, OnWorkers
from pipeline.tuning.tuned import COMPLETE, FAILED, PRUNED, Outcome

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import Trial


@dataclass
class Loop:
    """The trials of one search, which the study records.

    `timeout` is in seconds; if it is over before a trial is complete, the first trial goes on to
    its end. `seed` decides what is drawn. With `prune`, trials are stopped between folds. Ctrl-C
    ends the loop, and sets `interrupted`.
    """

    study: Study
    space: Space
    slots: InProcess | OnWorkers
    n_splits: int
    trials: int
    timeout: float | None
    prune: bool
    seed: int
    log: ExecutionLog = field(default_factory=ExecutionLog, init=False)
    interrupted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self.seconds = seconds_of(self.study.get_trials(deepcopy=False))
        self.started = time.monotonic()
        self._running: dict[int, tuple[Trial, Outcome]] = {}
        self._unfinished: list[tuple[Trial, Outcome]] = []
        self._ended = {each.state for each in recall(self.study, self.space)}
        self._say: Say | None = None

    @property
    def left(self) -> float:
        """Seconds until no further task may begin, except those of the first trial."""
        return np.inf if self.timeout is None else self.started + self.timeout - time.monotonic()

    def run(self, verbose: int = 0) -> None:
        """Run until there are enough trials, or time or Ctrl-C ends the search."""
        try:
            self._unfinished = unfinished(self.study, self.space)
            n_left = self.trials - len(recall(self.study, self.space))
            with progress("search", n_left) if verbose else nullcontext() as self._say:
                while self.left > 0 or COMPLETE not in self._ended:
                    self._fill()
                    if not self._running:
                        break
                    for task, judged in self.slots.wait(self.left if self.left > 0 else np.inf):
                        self._take(task, judged)
        except KeyboardInterrupt:
            self.interrupted = True

    def _fill(self) -> None:
        """Begin trials while slots are free: first those that another process had begun."""
        while self.slots.free > 0 and (self.left > 0 or not (self._running or self._ended)):
            if self._unfinished:
                self._begin(*self._unfinished.pop(0))
            elif len(self.study.get_trials(deepcopy=False)) < self.trials:
                trial, params = self._draw()
                self._begin(trial, Outcome(trial.number, params))
            else:
                break

    def _draw(self) -> tuple[Trial, dict[str, Any]]:
        """Return the next candidate; the first one has the estimator's own parameters if it can."""
        own = None
        if not self.study.get_trials(deepcopy=False):
            own = self.space.place(self.space.estimator.get_params())
        if own is None:
            return ask(self.study, self.space, self.seed)
        return begin(self.study, self.space, own), self.space.read(own)

    def _begin(self, trial: Trial, outcome: Outcome) -> None:
        self._running[trial.number] = trial, outcome
        self._advance(trial, outcome)

    def _take(self, task: Task, judged: Judged) -> None:
        """Take the result of a task, then continue its trial or end it."""
        trial, outcome = self._running[task.trial]
        self.log.events.extend(judged.events)
        outcome.folds[task.fold] = judged
        report(trial, task.fold, judged)
        if judged.error or not np.isfinite(judged.score):
            why = f"fold {task.fold + 1}: the score is {judged.score}"
            self._end(trial, outcome, FAILED, judged.error or why)
        else:
            self._advance(trial, outcome)

    def _advance(self, trial: Trial, outcome: Outcome) -> None:
        """Begin the next fold of a trial, or end the trial."""
        done = len(outcome.folds)
        if done == self.n_splits:
            self._end(trial, outcome, COMPLETE)
        elif done and self.prune and (why := reason_to_stop(self.study, trial.number)):
            self._end(trial, outcome, PRUNED, why)
        elif self.left > 0 or (
            COMPLETE not in self._ended and outcome.number == min(self._running)
        ):
            # If all began with the same fold, the sampler would learn what is best on that fold.
            first = outcome.number if self.prune else 0
            fold = (first + done) % self.n_splits
            self.slots.submit(Task(trial.number, outcome.params, fold))
        else:
            del self._running[trial.number]

    def _end(self, trial: Trial, outcome: Outcome, state: str, reason: str = "") -> None:
        outcome.state, outcome.reason = state, reason
        self._ended.add(state)
        tell(self.study, trial, outcome, self.seconds + time.monotonic() - self.started)
        del self._running[trial.number]
        if self._say:
            ended = recall(self.study, self.space)
            best = max((each.score for each in ended if each.state == COMPLETE), default=np.nan)
            counted = f"{len(ended)} of {self.trials}, trial {outcome.number}: {outcome}"
            self._say(f"{counted}; best {best:.5g}")
