"""What goes wrong in a task's own code, in one sentence that names its line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import ConfigError, DataError

FOLDER = Path("tasks")
_LIBRARIES = {"sklearn", "xgboost"}


@contextmanager
def blamed_on(what: str) -> Iterator[None]:
    """Turn what a task's own code raises into one message; errors with an exit code pass.

    >>> with blamed_on("pipeline 'linear'"):
    ...     {}["size"]
    Traceback (most recent call last):
        ...
    pipeline.errors.ConfigError: pipeline 'linear': KeyError: 'size'

    Raises
    ------
    ConfigError
        The code failed; the message has the last line of a task's file that ran.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if hasattr(error, "exit_code"):
            raise
        raise ConfigError(f"{what}: {describe_fault(error)}") from error


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn what a fit raises into one message, where a task's code or a library objects.

    Raises
    ------
    ConfigError
        The task's own code failed, as `blamed_on` says it.
    DataError
        scikit-learn or XGBoost objects to the rows or to a parameter.
    """
    try:
        yield
    except Exception as error:
        if hasattr(error, "exit_code"):
            raise
        if _own_frames(error):
            raise ConfigError(f"{what}: {describe_fault(error)}") from error
        if not _is_objection(error):
            raise
        raise DataError(f"{what}: {describe_fault(error)}") from error


def describe_fault(error: BaseException) -> str:
    """Return an error in words, after the line of a task's file that it comes from."""
    if isinstance(error, SyntaxError):
        where = _place(error.filename or "", error.lineno, error.text)
        return f"{where}{type(error).__name__}: {error.msg}"
    own = _own_frames(error)
    where = _place(own[-1].filename, own[-1].lineno, own[-1].line) if own else ""
    said = str(error).partition("Stack trace:")[0].rstrip()  # of XGBoost's library
    return f"{where}{type(error).__name__}: {said}"


def _own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the lines of tasks' files that led to an error."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if Path(frame.filename).parent == FOLDER.resolve()]


def _is_objection(error: Exception) -> bool:
    """Return whether a library refuses what it was given."""
    file = traceback.extract_tb(error.__traceback__)[-1].filename
    return isinstance(error, ValueError | TypeError) and bool(_LIBRARIES & {*Path(file).parts})


def _place(file: str, line: int | None, text: str | None) -> str:
    return (
        ""
        if line is None
        else f"{FOLDER / Path(file).name}, line {line}: `{(text or '').strip()}`: "
    )
