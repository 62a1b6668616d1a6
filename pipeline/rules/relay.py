"""Checkpoints of a training on a cluster: a worker leaves its trees with the scheduler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from pipeline import checkpoints
from pipeline.checkpoints import Checkpoints, Pace
from pipeline.clusters import Cluster
from pipeline.optional import load

ANSWER = 5.0
"""Seconds within which a scheduler says what it holds, if there is one left to say it."""


@contextmanager
def relayed(cluster: Cluster, kept: Checkpoints | None) -> Iterator[Callable[[Checkpoints], Any]]:
    """Yield what makes the callback of the workers; what they leave is taken, now and at the end.

    The scheduler holds the latest trees only, so a training of many checkpoints does not fill it.
    """
    name, over = f"trees-{uuid4().hex}", threading.Event()
    variable = load("distributed.Variable")(name, client=cluster.client)
    taker = threading.Thread(target=_take_now_and_then, args=(variable, kept, over), daemon=True)
    if kept is not None:
        taker.start()
    try:
        yield lambda _: _sender(name, checkpoints.EVERY)
    finally:
        over.set()
        if kept is not None:
            taker.join()
            _take(variable, kept)
        with suppress(Exception):  # The scheduler may be gone, and the variable with it.
            variable.delete()


def _take_now_and_then(variable: Any, kept: Checkpoints, over: threading.Event) -> None:
    while not over.wait(checkpoints.EVERY or 1):
        _take(variable, kept)


def _take(variable: Any, kept: Checkpoints) -> None:
    with suppress(Exception):  # There are no trees yet, or nobody to ask.
        rounds, trees = variable.get(timeout=ANSWER if kept.rounds else 1)
        kept.keep(trees, rounds)


def _sender(name: str, every: float) -> Any:
    class Sender(load("xgboost.callback.TrainingCallback")):  # type: ignore[misc]
        """Leaves the trees of the first worker with the scheduler, now and then."""

        def before_training(self, model: Any) -> Any:
            self.pace = Pace(every)
            return model

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            if load("xgboost.collective.get_rank")() == 0 and self.pace.due():
                variable = load("distributed.Variable")(
                    name, client=load("distributed.get_client")()
                )
                variable.set((model.num_boosted_rounds(), bytes(model.save_raw("ubj"))))
            return False

    return Sender()
