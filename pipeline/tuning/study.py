"""Optuna's study of a search: in memory, or in a file from which a killed search resumes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn

from pipeline.errors import ConfigError, OutputError
from pipeline.optional import load, version
from pipeline.system.atomic import locked
from pipeline.table.shared import SharedRows
from pipeline.tuning.evaluate import Evaluation, Judged
from pipeline.tuning.space import Space, described, digest
from pipeline.tuning.stopping import estimated
from pipeline.tuning.tuned import COMPLETE, FAILED, PRUNED, RUNNING, Outcome

if TYPE_CHECKING:
    from optuna.storages import JournalStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

DIRECTION = "maximize"
_BEGINS = b'{"op_code":0,'
"""The first line of a journal creates the study."""
_FOLD = "fold "
_STATES = {COMPLETE: "COMPLETE", PRUNED: "PRUNED", FAILED: "FAIL", RUNNING: "RUNNING"}


@contextmanager
def open_study(
    storage: str | Path | None,
    identify: Callable[[], Mapping[str, str]],
    seed: int = 0,
) -> Iterator[Study]:
    """Yield the study of a search; its attribute "search" has the seed that it began with.

    `ConfigError` says that the file holds something else, `OutputError` or `OutputLocked` that it
    cannot be written.
    """
    optuna = load("optuna")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with ExitStack() as stack:
        stack.callback(optuna.logging.set_verbosity, before)
        if storage is None:
            study = optuna.create_study(direction=DIRECTION)
            study.set_user_attr("search", {"seed": seed})
        else:
            if "://" in str(storage):
                raise ConfigError(f"storage={str(storage)!r} is not the name of a file; pass one")
            path = Path(storage).resolve()
            try:
                stack.enter_context(locked(path))
                journal = open_journal(path)
            except OSError as error:
                raise OutputError(f"{path}: {error.strerror}; name another file") from error
            study = _study_in(path, journal, identify(), seed)
        yield study


def open_journal(path: Path) -> JournalStorage:
    """Return the storage in a file, of which a line that a kill has torn is cut off.

    Optuna skips such a line as it reads, and writes the next one behind it. A file that is no
    journal stays as it is, and is a ConfigError.
    """
    content = path.read_bytes() if path.exists() else b""
    readable = f"a journal that Optuna {version('optuna')} can read"
    refused = ConfigError(f"{path}: not {readable}; name another file as storage")
    if not (content.startswith(_BEGINS) or _BEGINS.startswith(content)):
        raise refused
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)
    # `locked` keeps other processes out; a lock file of Optuna's would outlive a kill.
    journal = load("optuna.storages.journal.JournalFileBackend")(str(path), lock_obj=RLock())
    try:
        storage: JournalStorage = load("optuna.storages.JournalStorage")(journal)
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise refused from error
    return storage


def _study_in(path: Path, storage: JournalStorage, identity: Mapping[str, str], seed: int) -> Study:
    """Return the study of a file: the one that it holds, if it is of this search, or a new one."""
    optuna, name = load("optuna"), digest(dict(identity))
    # A kill may have left a study that says nothing of its search yet.
    known = [one for one in storage.get_all_studies() if one.study_name != name or one.user_attrs]
    if not known:
        study: Study = optuna.create_study(
            storage=storage, study_name=name, direction=DIRECTION, load_if_exists=True
        )
        study.set_user_attr("search", {"seed": seed, "identity": dict(identity)})
        return study
    if len(known) > 1 or "search" not in known[0].user_attrs:
        said = "not a study of this version of Search"
        raise ConfigError(f"{path}: {said}; name another file as storage")
    before = known[0].user_attrs["search"]["identity"]
    if changed := [name for name in identity if before.get(name) != identity[name]]:
        raise ConfigError(
            f"{path} holds a search that differs in {', '.join(changed)}; restore what "
            "has changed, or name another file as storage"
        )
    found: Study = optuna.load_study(study_name=known[0].study_name, storage=storage)
    return found


def identity_of(search: Any, evaluation: Evaluation, space: Space) -> dict[str, str]:
    """Return what identifies a search: a name -> a digest.

    Functions of the user's own count by their names.
    """
    if getattr(search.cv, "random_state", 0) is None and getattr(search.cv, "shuffle", True):
        raise ConfigError(
            f"cv={search.cv!r} draws other folds each time, so the search could not resume from "
            "its storage; pass a random_state to cv"
        )
    X = evaluation.X
    versions = [sys.modules["pipeline"].__version__, sklearn.__version__, version("xgboost")]
    known = {
        "versions of scikit-learn, XGBoost or this package": versions,
        "estimator": described(search.estimator),
        "space": {name: each.text for name, each in space.parameters.items()},
        "X": X.rows() if isinstance(X, SharedRows) else X,
        "y": evaluation.y,
        "parameters of fit": {**evaluation.fit_params, **evaluation.score_params},
        "folds": evaluation.folds,
        "groups": evaluation.groups,
        "scoring": described(search.scoring),
        "prune": search.prune,
        "validation_fraction": search.validation_fraction,
        "random_state": search.random_state,
    }
    return {name: digest(value) for name, value in known.items()}


def recall(study: Study, space: Space) -> list[Outcome]:
    """Return what is known of the trials that have ended, in their order."""
    ended = [each for each in study.get_trials(deepcopy=False) if each.state.is_finished()]
    ours = {theirs: state for state, theirs in _STATES.items()}
    return [
        Outcome(
            each.number,
            space.read(each.params),
            judged_folds(each),
            ours[each.state.name],
            each.user_attrs.get("reason", ""),
            each.user_attrs.get("seconds", 0.0),
        )
        for each in ended
    ]


def judged_folds(trial: FrozenTrial) -> dict[int, Judged]:
    """Return the result of each fold of a trial, in the order in which they ended."""
    return {
        int(name.removeprefix(_FOLD)) - 1: Judged(**known)
        for name, known in trial.user_attrs.items()
        if name.startswith(_FOLD)
    }


def unfinished(study: Study, space: Space) -> list[tuple[Trial, Outcome]]:
    """Return the trials that were running when the process before this one was killed."""
    make, found = load("optuna.trial.Trial"), []
    for each in study.get_trials(deepcopy=False):
        if each.state.name == _STATES[RUNNING]:
            trial, known = make(study, each._trial_id), judged_folds(each)
            folds = {fold: one for fold, one in known.items() if np.isfinite(one.score)}
            for fold in folds.keys() - {step - 1 for step in each.intermediate_values}:
                trial.report(folds[fold].score, fold + 1)
            found.append((trial, Outcome(each.number, space.read(each.params), folds)))
    return found


def trials_in(path: Path) -> list[FrozenTrial]:
    """Return the trials of the search in a file; none where there is no file."""
    if not path.exists():
        return []
    storage = open_journal(path)
    studies = [storage.get_all_trials(each._study_id) for each in storage.get_all_studies()]
    return [each for trials in studies for each in trials]


def seconds_of(trials: Sequence[FrozenTrial]) -> float:
    """Return the seconds of the search at which the last of some trials ended."""
    return max((each.user_attrs.get("seconds", 0.0) for each in trials), default=0.0)


def begin(study: Study, space: Space, drawn: Mapping[str, Any]) -> Trial:
    """Add a trial with what was drawn for it, in one line of the journal."""
    states, number = load("optuna.trial.TrialState"), len(study.get_trials(deepcopy=False))
    make, params = load("optuna.trial.create_trial"), dict(drawn)
    study.add_trial(make(state=states.RUNNING, params=params, distributions=space.distributions))
    added = study.get_trials(deepcopy=False)[number]
    trial: Trial = load("optuna.trial.Trial")(study, added._trial_id)
    return trial


def ask(study: Study, space: Space, seed: int) -> tuple[Trial, dict[str, Any]]:
    """Draw the next candidate.

    What is drawn depends on the seed, the number of the trial and the trials before, so a search
    that was killed draws what it would have drawn.
    """
    known = study.get_trials(deepcopy=False)
    sampler = load("optuna.samplers.TPESampler")(seed=(seed * 1_000_003 + len(known)) % 2**32)
    guess = load("optuna").create_study(direction=DIRECTION, sampler=sampler)
    guess.add_trials(estimated(known))
    drawn = guess.ask(space.distributions).params
    return begin(study, space, drawn), space.read(drawn)


def report(trial: Trial, fold: int, judged: Judged) -> None:
    """Keep the score of a fold, how long it took, and where it ran."""
    known = {name: getattr(judged, name) for name in ("score", "fit_time", "score_time", "worker")}
    # This line is the record; the next one tells pruners, and is made up for after a kill.
    trial.set_user_attr(f"{_FOLD}{fold + 1}", known)
    if np.isfinite(judged.score):
        trial.report(judged.score, fold + 1)


def tell(study: Study, trial: Trial, outcome: Outcome, seconds: float) -> None:
    """Keep that a trial has ended, how, why, and after how many seconds of the search."""
    state = load("optuna.trial.TrialState")[_STATES[outcome.state]]
    if outcome.reason:
        trial.set_user_attr("reason", outcome.reason)
    trial.set_user_attr("seconds", round(seconds, 3))
    study.tell(trial, outcome.score if outcome.state == COMPLETE else None, state=state)
