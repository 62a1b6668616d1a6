"""Every error that users can see, with the exit code of the command line.

The codes follow ``sysexits.h``: 2 configuration, 65 data, 69 a required GPU is
absent or no cluster responds, 70 an internal error, 71 memory ran out or a worker was
lost, 73 cannot write, 75 another run is writing to the folder, 130 interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

E = TypeVar("E", bound="PipelineError")

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LISTED = 30
_SYNONYMS = {"gpu": "cuda", "nvidia": "cuda", "host": "cpu"}


def clean(text: str) -> str:
    r"""Replace characters that a terminal or a browser would act on instead of showing them.

    These are control characters other than tab and newline, marks that reverse the writing
    direction, and halves of surrogate pairs.

    >>> clean("a\x1b[31mb")
    'a�[31mb'
    """
    return _UNPRINTABLE.sub("\ufffd", text)


class PipelineError(Exception):
    """Base class of all deliberate errors; `exit_code` is the exit status of a command."""

    exit_code = 70

    # A `KeyError` would show the repr of its text.
    __str__ = Exception.__str__


class Refused(PipelineError, ValueError):
    """Something is rejected on purpose; where it is allowed, scikit-learn runs it instead.

    No other error leads to another way of running a step: all others are faults and are raised.
    With `final` nothing else is tried, because scikit-learn would misinterpret the input.
    """

    final = False


class ConfigError(Refused):
    """A task, device, parameter or option that cannot be used as given."""

    exit_code = 2


def close_to(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant; empty if none is similar.

    >>> close_to("gpu", ["auto", "cpu", "cuda"]), close_to("Taxy", ["taxi"]), close_to("x", ["y"])
    ('cuda', 'taxi', '')
    """
    names = {str(each).lower(): str(each) for each in known}
    name = str(name).lower()
    name = _SYNONYMS[name] if _SYNONYMS.get(name) in names else name
    return next((names[each] for each in get_close_matches(name, names, n=1)), "")


def pick(name: str, known: Collection[str], what: str) -> str:
    """Return a name if it is known, and raise an error that suggests one if not.

    >>> pick("taxy", ["taxi"], "task")
    Traceback (most recent call last):
        ...
    pipeline.errors.ConfigError: unknown task 'taxy'; did you mean 'taxi'? Choose from: taxi
    """
    if name in [*known]:
        return name
    close, names = close_to(name, known), sorted(map(str, known))
    choices = f"hoose from: {', '.join(names)}"
    if len(names) > _LISTED:
        choices = f"hoose one of {len(names)} names, such as {', '.join(names[:3])}"
    way = f"did you mean {close!r}? C{choices}" if close else f"c{choices}"
    raise ConfigError(f"unknown {what} {name!r}; {way}")


class DataError(Refused):
    """A table is missing, damaged, or does not match the table of the fit."""

    exit_code = 65


class DeviceUnavailable(PipelineError, RuntimeError):
    """``device="cuda"`` was requested, but there is no usable GPU."""

    exit_code = 69


class ClusterUnavailable(PipelineError, ConnectionError):
    """A scheduler or its workers did not respond in time."""

    exit_code = 69


class WorkerLost(PipelineError, RuntimeError):
    """A worker died, froze or ran out of memory in every attempt."""

    exit_code = 71


class OutOfMemory(PipelineError, MemoryError):
    """A step needed more memory than the machine or the GPU has left."""

    exit_code = 71


class BudgetExceeded(PipelineError, RuntimeError):
    """More bytes would be copied from the device than ``host_bytes`` allows."""

    exit_code = 2


class CheckpointDiffers(PipelineError, ValueError):
    """A checkpoint belongs to other data, another estimator or another seed."""

    exit_code = 65


class ParityError(PipelineError, ValueError):
    """Predictions differ that should agree, such as those of a model on a device and lifted."""

    exit_code = 65


class OutputError(PipelineError, OSError):
    """The results cannot be written: disk full, read-only folder, a file in the way."""

    exit_code = 73


class OutputLocked(PipelineError):
    """Another process is writing to the output folder."""

    exit_code = 75


@dataclass(frozen=True)
class Reason:
    """Why a step cannot run where it should, as data."""

    step: str
    """Path of the step in the estimator, ``"columntransformer.onehotencoder"``."""
    why: str
    """Why it cannot run."""
    instead: str = ""
    """What to do instead."""
    parameter: str | None = None
    """The parameter whose value is at fault."""

    def __str__(self) -> str:
        """One line: step, parameter, cause and suggestion."""
        where = f"{self.step}({self.parameter})" if self.parameter else self.step
        return f"{where}: {self.why}" + (f"; {self.instead}" if self.instead else "")


class Unsupported(ConfigError):
    """An estimator, or a part of it, has no exact equivalent on the device.

    Attributes
    ----------
    reasons : tuple of Reason
        All of them, not just the first.
    """

    def __init__(self, *reasons: Reason) -> None:
        self.reasons = reasons
        super().__init__("\n".join(str(reason) for reason in reasons))


def in_words_of(theirs: Exception, ours: PipelineError) -> PipelineError:
    """Return an error of both classes: scikit-learn's message, then our suggestion.

    >>> error = in_words_of(TypeError("X is no matrix."), DataError("pass X.toarray()"))
    >>> isinstance(error, DataError), isinstance(error, TypeError), error.exit_code
    (True, True, 65)
    >>> print(error)
    X is no matrix.
    pass X.toarray()
    """
    said = str(theirs.args[0]) if isinstance(theirs, KeyError) and theirs.args else str(theirs)
    text = str(ours) if said in str(ours) else f"{said}\n{ours}"
    return _made(type(ours), type(theirs), text, {**vars(theirs), **vars(ours)})


@contextmanager
def in_both_words(refused: Refused) -> Iterator[None]:
    """Add why something was rejected to the error that scikit-learn raises for it.

    >>> with in_both_words(DataError("pass X.toarray()")):
    ...     raise TypeError("X is no matrix.")
    Traceback (most recent call last):
        ...
    pipeline.errors.DataError: X is no matrix.
    pass X.toarray()
    """
    try:
        yield
    except Warning as warning:  # where warnings are errors
        raise refused from warning
    except Exception as theirs:
        ours = isinstance(theirs, PipelineError) and not isinstance(theirs, Refused)
        if ours or not isinstance(theirs, AttributeError | LookupError | TypeError | ValueError):
            theirs.add_note(str(refused))  # a fault, or nothing else would avoid it
            raise
        raise in_words_of(theirs, refused) from theirs


def final(refused: E) -> E:
    """Mark an error as one after which no other way of running a step is tried.

    >>> final(DataError("no way")).final
    True
    """
    vars(refused)["final"] = True
    return refused


def _made(
    ours: type[PipelineError], theirs: type[Exception], text: str, state: dict[str, object]
) -> PipelineError:
    kind = _both(ours, theirs)
    error = kind.__new__(kind, text)
    error.args = (text,)
    vars(error).update(state)
    return error


def _both(ours: type[PipelineError], theirs: type[Exception]) -> type[PipelineError]:
    """Return a class that is both an error of ours and one of scikit-learn's."""
    if issubclass(ours, theirs):
        return ours
    if issubclass(theirs, ours):
        return theirs

    # The class is created here and has no name, so pickle cannot import it.
    def reduce(error: PipelineError) -> tuple[object, ...]:
        return _made, (ours, theirs, str(error), vars(error))

    methods = {"__module__": ours.__module__, "__reduce__": reduce}
    try:
        return type(ours.__name__, (ours, theirs), methods)
    except TypeError:  # Their bases do not go together.
        return ours
