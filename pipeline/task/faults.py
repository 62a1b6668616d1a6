"""What goes wrong in a task's own code, in one sentence that names its line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import ConfigError, DataError
from pipeline.optional import EXTRAS, to_install
from pipeline.task.included import FOLDER, TASKS

_LIBRARIES = {"sklearn", "xgboost"}


@contextmanager
def blamed_on(what: str) -> Iterator[None]:
    """Turn what a task's own code raises into one message; errors with an exit code pass.

    >>> with blamed_on("pipeline 'linear'"):
    ...     {}["size"]
    Traceback (most recent call last):
        ...
    pipeline.errors.ConfigError: pipeline 'linear': KeyError: 'size'
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if hasattr(error, "exit_code"):
            raise
        raise ConfigError(f"{what}: {describe_fault(error)}") from error


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn what a fit raises into one message: `ConfigError` where a task's own code failed.

    Where scikit-learn or XGBoost objects to the rows or to a parameter, it is `DataError`.
    """
    try:
        yield
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        library = _LIBRARIES.intersection(Path(frames[-1].filename).parts)
        own = any(map(_is_own, frames))
        objects = library and isinstance(error, ValueError | TypeError)
        if hasattr(error, "exit_code") or not (own or objects):
            raise
        kind = ConfigError if own else DataError
        raise kind(f"{what}: {describe_fault(error)}") from error


def describe_fault(error: BaseException) -> str:
    """Return an error in words, after the line of a task's file that it comes from.

    >>> describe_fault(ModuleNotFoundError("No module named 'optuna'", name="optuna"))
    "ModuleNotFoundError: No module named 'optuna'; run `make setup`"
    """
    frames = [each for each in traceback.extract_tb(error.__traceback__) if _is_own(each)]
    places = [(each.filename, each.lineno, each.line) for each in frames]
    said = str(error).partition("Stack trace:")[0].rstrip()  # of XGBoost's library
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    ways = [to_install(missing)] if missing in EXTRAS else []
    said = "; ".join([said, *ways, *getattr(error, "__notes__", ())])
    if isinstance(error, SyntaxError) and error.lineno:
        places, said = [(error.filename or "", error.lineno, error.text)], error.msg
    if not places:
        return f"{type(error).__name__}: {said}"
    file, line, text = places[-1]
    where = f"{FOLDER / Path(file).name}, line {line}: `{(text or '').strip()}`"
    return f"{where}: {type(error).__name__}: {said}"


def _is_own(frame: traceback.FrameSummary) -> bool:
    """Return whether a line is one of a task's file."""
    return Path(frame.filename).parent in (FOLDER.resolve(), TASKS)
