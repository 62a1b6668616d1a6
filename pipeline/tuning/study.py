"""Optuna's study of a search: in memory, or in a file from which a killed one goes on."""

from __future__ import annotations

import platform
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn

from pipeline.errors import ConfigError, DataError, OutputError
from pipeline.optional import load, version
from pipeline.system.atomic import locked
from pipeline.tuning.evaluate import Judged
from pipeline.tuning.identity import differences, name_of
from pipeline.tuning.journal import Journal
from pipeline.tuning.racing import LOOK, estimated
from pipeline.tuning.results import COMPLETE, FAILED, PRUNED, RUNNING, Outcome
from pipeline.tuning.space import Space

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.storages import JournalStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

DIRECTION = "maximize"
_STEP = "step "
_STATES = {COMPLETE: "COMPLETE", PRUNED: "PRUNED", FAILED: "FAIL", RUNNING: "RUNNING"}


@contextmanager
def open_study(
    storage: str | Path | None,
    identify_search: Callable[[], Mapping[str, str]],
    pruner: BasePruner,
    seed: int = 0,
) -> Iterator[Study]:
    """Yield the study of a search; its attribute "seed" is that with which it was begun.

    Parameters
    ----------
    storage : str or Path, optional
        A file; by default the study is in memory.
    identify_search : callable
        Returns what makes the search this one and no other: what it is called in messages -> a
        text. Called only where there is a file.
    pruner : optuna.pruners.BasePruner
    seed : int
        Of the search, if it is begun now.

    Raises
    ------
    ConfigError
        The file holds another search, or the storage is not the name of a file.
    DataError
        The file is something else.
    OutputError
        The file cannot be read or written.
    OutputLocked
        Another search is writing to the file.
    """
    optuna = load("optuna")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with ExitStack() as stack:
        stack.callback(optuna.logging.set_verbosity, before)
        if storage is None:
            study = optuna.create_study(direction=DIRECTION, pruner=pruner)
            study.set_user_attr("seed", seed)
        else:
            path = _path_of(storage)
            with _naming(path):
                stack.enter_context(locked(path))
                journal = stack.enter_context(Journal(path))
            study = _open(journal, identify_search(), pruner, seed)
        yield study


def _path_of(storage: str | Path) -> Path:
    if not isinstance(storage, str | Path) or "://" in str(storage):
        raise ConfigError(f"storage={str(storage)!r} is not the name of a file; pass one")
    return Path(storage).resolve()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"storage={str(path)!r}: {error.strerror or error}; name another file"
        ) from error


def _open(journal: Journal, identity: Mapping[str, str], pruner: BasePruner, seed: int) -> Study:
    """Return the study of a file: the one that it holds, if it is of this search, or a new one."""
    optuna, path = load("optuna"), journal.path
    storage = _replay(journal)
    known = storage.get_all_studies()
    if not known:
        with journal.together():
            study: Study = optuna.create_study(
                storage=storage, study_name=name_of(identity), direction=DIRECTION, pruner=pruner
            )
            study.set_user_attr("identity", dict(identity))
            study.set_user_attr("seed", seed)
            study.set_user_attr("versions", versions())
        return study
    attrs = known[0].user_attrs
    if len(known) > 1 or not {"identity", "seed", "versions"} <= attrs.keys():
        raise DataError(f"{path}: a study that Search has not made; name another file as storage")
    if changed := differences(attrs["identity"], identity):
        raise ConfigError(
            f"{path} holds a search that differs (before → now): {'; '.join(changed)}; "
            "set back what has changed, or name another file as storage"
        )
    study = optuna.load_study(study_name=known[0].study_name, storage=storage, pruner=pruner)
    _warn_of_versions(study, path)
    return study


def _replay(journal: Journal) -> JournalStorage:
    try:
        storage: JournalStorage = load("optuna.storages.JournalStorage")(journal)
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{journal.path}: not a journal that Optuna {version('optuna')} can read; "
            "name another file as storage"
        ) from error
    return storage


def versions() -> dict[str, str]:
    """Return the versions of what scores depend on."""
    ours = {"pipeline": sys.modules["pipeline"].__version__, "python": platform.python_version()}
    xgboost = next(filter(None, map(version, ("xgboost", "xgboost-cpu", "xgboost-cu13"))), "")
    theirs = {"optuna": version("optuna"), "scikit-learn": sklearn.__version__, "xgboost": xgboost}
    return ours | theirs


def _warn_of_versions(study: Study, path: Path) -> None:
    """Warn where the trials so far are by other versions than the next ones."""
    if changed := differences(study.user_attrs["versions"], versions()):
        warnings.warn(
            f"{path}: other versions (before → now): {'; '.join(changed)}; scores may differ",
            UserWarning,
            stacklevel=2,
        )
        study.set_user_attr("versions", versions())


def _together(study: Study) -> AbstractContextManager[None]:
    """Write what is said of a study within the block at once."""
    journal = getattr(study._storage, "_backend", None)
    return journal.together() if isinstance(journal, Journal) else nullcontext()


def recall(study: Study, space: Space) -> list[Outcome]:
    """Return what is known of the trials of a study, in their order."""
    waiting = load("optuna.trial.TrialState").WAITING
    trials = study.get_trials(deepcopy=False)
    return [_outcome(trial, space) for trial in trials if trial.state != waiting]


def _outcome(trial: FrozenTrial, space: Space) -> Outcome:
    state = next(ours for ours, theirs in _STATES.items() if theirs == trial.state.name)
    steps, reason = judged_steps(trial), trial.user_attrs.get("reason", "")
    look = steps.pop(LOOK, None)
    folds = {step - 1: judged for step, judged in steps.items()}
    return Outcome(trial.number, space.read(trial.params), folds, state, reason, look)


def judged_steps(trial: FrozenTrial) -> dict[int, Judged]:
    """Return what came of each step of a trial, in the order in which they ended."""
    values, steps = trial.intermediate_values, {}
    for name, known in trial.user_attrs.items():
        if name.startswith(_STEP):
            step = int(name.removeprefix(_STEP))
            if trial.state.name == _STATES[RUNNING] and step not in values:
                continue  # It failed as the process was killed, and is fitted again.
            error = "" if step in values else trial.user_attrs.get("reason", "")
            steps[step] = Judged(values.get(step, np.nan), error=error, **known)
    return steps


def unfinished(study: Study) -> list[Trial]:
    """Return the trials that were running when the process before this one was killed."""
    state = load("optuna.trial.TrialState").RUNNING
    known = study.get_trials(deepcopy=False, states=(state,))
    return [load("optuna.trial.Trial")(study, each._trial_id) for each in known]


def seconds_in(path: Path) -> float:
    """Return the seconds that the search in a file has taken; 0 where there is none."""
    if not path.exists():
        return 0.0
    with Journal(path) as journal:
        storage = _replay(journal)
        known = [each.study_name for each in storage.get_all_studies()]
        load_study = load("optuna").load_study
        return max((seconds_before(load_study(study_name=n, storage=storage)) for n in known),
                   default=0.0)  # fmt: skip


def seconds_before(study: Study) -> float:
    """Return the seconds that the search had taken when its last trial ended."""
    known = study.get_trials(deepcopy=False)
    return max((each.user_attrs.get("seconds", 0.0) for each in known), default=0.0)


def ask(study: Study, space: Space, seed: int | None) -> tuple[Trial, dict[str, Any]]:
    """Draw the next candidate.

    With a seed, what is drawn depends on it, the number of the trial and the trials before, so a
    search that was killed draws what it would have drawn.
    """
    known = study.get_trials(deepcopy=False)
    states = {each.state.name for each in known}
    if seed is not None:
        sampler = load("optuna.samplers.TPESampler")(seed=(seed * 1_000_003 + len(known)) % 2**32)
        study.sampler = sampler
    with _together(study):
        if seed is not None and "PRUNED" in states and "WAITING" not in states:
            guess = load("optuna").create_study(direction=DIRECTION, sampler=sampler)
            guess.add_trials(estimated(known))
            drawn = guess.ask()
            space.draw(drawn)
            study.enqueue_trial(drawn.params)
        trial = study.ask()
        return trial, space.draw(trial)


def report(study: Study, trial: Trial, step: int, judged: Judged) -> None:
    """Keep what has come of a task: its score, how long it took, and where it ran.

    Parameters
    ----------
    study : optuna.study.Study
    trial : optuna.trial.Trial
    step : int
        0 for the first look, else the number of the fold, from 1 on.
    judged : Judged
    """
    known = {name: getattr(judged, name) for name in ("fit_time", "score_time", "worker")}
    with _together(study):
        if np.isfinite(judged.score):
            trial.report(judged.score, step)
        trial.set_user_attr(f"{_STEP}{step}", known)


def tell(study: Study, trial: Trial, outcome: Outcome, seconds: float) -> None:
    """Keep that a trial has ended, how, why, and after how many seconds of the search."""
    state = load("optuna.trial.TrialState")[_STATES[outcome.state]]
    with _together(study):
        if outcome.reason:
            trial.set_user_attr("reason", outcome.reason)
        trial.set_user_attr("seconds", round(seconds, 3))
        study.tell(trial, outcome.score if outcome.state == COMPLETE else None, state=state)
