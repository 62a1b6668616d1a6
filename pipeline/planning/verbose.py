"""The lines that scikit-learn prints of a pipeline with `verbose=True`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial

from sklearn.pipeline import Pipeline

# scikit-learn has no public way to print what `verbose` asks for.
from sklearn.utils._user_interface import _print_elapsed_time

from pipeline.typing import Estimator


def timed(estimator: Estimator, name: str) -> AbstractContextManager[None]:
    """Return a context that prints the line of a step at its end, and none for a joined one."""
    found = type(estimator) is Pipeline and name in dict(estimator.steps)
    context: AbstractContextManager[None] = _print_elapsed_time(
        "Pipeline", _line(estimator, name) if found else None
    )
    return context


def tell_rest(estimator: Estimator) -> None:
    """Print the lines of the steps that are left out at the end."""
    if type(estimator) is Pipeline:
        _tell(
            estimator, range(_start_of_idle(estimator, len(estimator.steps)), len(estimator.steps))
        )


def number_lines(part: Pipeline, estimator: Pipeline) -> None:
    """Let a pipeline of some steps of another one print that one's lines."""
    if not estimator.verbose:
        return
    names = [name for name, _ in part.steps]
    part.verbose = True  # which keeps it from scikit-learn's own fit, that would print others
    vars(part)["_log_message"] = partial(_line_at, estimator, names)


def _line_at(estimator: Pipeline, names: Sequence[str], i: int) -> str | None:
    return _line(estimator, names[i])


def _line(estimator: Pipeline, name: str) -> str | None:
    """Return the line of a step, when those of the ones left out before it are printed."""
    at = [step for step, _ in estimator.steps].index(name)
    _tell(estimator, range(_start_of_idle(estimator, at), at))
    line: str | None = estimator._log_message(at)
    return line


def _start_of_idle(estimator: Pipeline, at: int) -> int:
    """Return where the steps that are left out begin which stand right before a position."""
    while at and estimator.steps[at - 1][1] in (None, "passthrough"):
        at -= 1
    return at


def _tell(estimator: Pipeline, positions: Iterable[int]) -> None:
    for i in positions:
        with _print_elapsed_time("Pipeline", estimator._log_message(i)):
            pass
