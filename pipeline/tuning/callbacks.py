"""scikit-learn's callbacks, told of a search as `GridSearchCV` tells them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from sklearn.callback import CallbackContext

from pipeline.estimator.callbacks import propagated
from pipeline.tuning.evaluate import Evaluation, Task
from pipeline.typing import Estimator


class FitsTold:
    """Tells callbacks of each fold of each trial; of so many `trials`, where that is known."""

    def __init__(
        self,
        search: Estimator,
        context: CallbackContext,
        evaluation: Evaluation,
        trials: int | None = None,
    ) -> None:
        self.search, self.evaluation = search, evaluation
        self.n_splits = len(evaluation.folds)
        self.context = context.subcontext(
            task_name="search",
            max_subtasks=None if trials is None else trials * self.n_splits,
            sequential_subtasks=False,
        )
        self._told: set[tuple[int, int]] = set()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Tell that a search begins, and its end."""
        self.context.call_on_fit_task_begin(estimator=self.search)
        yield
        self.context.call_on_fit_task_end(estimator=self.search)

    @contextmanager
    def fitting(self, task: Task, model: Estimator = None) -> Iterator[None]:
        """Tell that a fold begins, let its model tell what it does, and tell the end."""
        self._told.add((task.trial, task.fold))
        context = self.context.subcontext(
            task_name="candidate-split-evaluation", task_id=task.trial * self.n_splits + task.fold
        )
        of = partial(self._cut, task)
        rows = {"X": partial(of, "X"), "y": partial(of, "y"), "metadata": partial(of, "metadata")}
        try:
            with propagated(context, model):
                context.call_on_fit_task_begin(estimator=self.search, **rows)
                yield
        finally:
            context.call_on_fit_task_end(estimator=self.search, **rows)

    def make_up(self, task: Task) -> None:
        """Tell of a fold that was judged in another process, unless it was told."""
        if (task.trial, task.fold) not in self._told:
            with self.fitting(task):
                pass

    def _cut(self, task: Task, name: str) -> Any:
        """Return X, y or the weights of the training rows of a fold, for callbacks that ask."""
        X, y, params = self.evaluation.cut(self.evaluation.folds[task.fold][0])
        weights = params.get("sample_weight")
        metadata = None if weights is None else {"sample_weight": weights}
        return {"X": X, "y": y, "metadata": metadata}[name]
