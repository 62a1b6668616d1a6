"""Optuna's study of a search: in memory, or in a file from which a killed one goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.optional import load
from pipeline.tuning.space import Space

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.study import Study
    from optuna.trial import Trial

DIRECTION = "maximize"


@contextmanager
def open_study(
    storage: str | Path | None, identity: Mapping[str, str], pruner: BasePruner
) -> Iterator[Study]:
    """Yield the study of a search.

    Parameters
    ----------
    storage : str or Path, optional
        A file; by default the study is in memory.
    identity : mapping of str to str
        What makes the search this one and no other: what it is called in messages -> a text.
    pruner : optuna.pruners.BasePruner
    """
    optuna = load("optuna")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield optuna.create_study(direction=DIRECTION, pruner=pruner)
    finally:
        optuna.logging.set_verbosity(before)


def unfinished(study: Study) -> list[Trial]:
    """Return the trials that were running when the process before this one was killed."""
    state = load("optuna.trial.TrialState").RUNNING
    known = study.get_trials(deepcopy=False, states=(state,))
    return [load("optuna.trial.Trial")(study, each._trial_id) for each in known]


def ask(study: Study, space: Space, seed: int | None) -> tuple[Trial, dict[str, Any]]:
    """Draw the next candidate.

    With a seed, what is drawn depends on it, the number of the trial and the trials before, so a
    search that was killed draws what it would have drawn.
    """
    if seed is not None:
        number = len(study.get_trials(deepcopy=False))
        study.sampler = load("optuna.samplers.TPESampler")(seed=(seed * 1_000_003 + number) % 2**32)
    trial = study.ask()
    return trial, space.draw(trial)
