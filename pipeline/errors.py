"""Every error a user can meet, with the exit code the command line ends with.

The codes follow ``sysexits.h``: 2 configuration, 65 data, 69 a required GPU is
absent or no cluster answers, 70 an internal error, 71 memory ran out or a worker was
lost, 73 cannot write, 75 another run holds the folder, 130 interrupted.
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
    r"""Replace what a terminal or a browser would obey instead of show.

    Control characters other than tab and newline, marks that reverse the writing
    direction, and halves of surrogate pairs.

    Examples
    --------
    >>> clean("a\x1b[31mb")
    'a�[31mb'
    """
    return _UNPRINTABLE.sub("\ufffd", text)


class PipelineError(Exception):
    """Base of all errors raised on purpose; `exit_code` is the process's status."""

    exit_code = 70

    # A `KeyError` would show the repr of its text.
    __str__ = Exception.__str__


class Refused(PipelineError, ValueError):
    """What is deliberately not run as it is given; where it may be, scikit-learn is asked instead.

    No other error leads to another way of running a step: the rest are faults, and are seen.

    Attributes
    ----------
    final : bool
        No other way is tried: scikit-learn's own would take it for something else.
    """

    final = False


class ConfigError(Refused):
    """A task, device, parameter or option that cannot be used as given."""

    exit_code = 2


def close_to(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant; empty where none is similar.

    >>> close_to("gpu", ["auto", "cpu", "cuda"]), close_to("Taxy", ["taxi"]), close_to("x", ["y"])
    ('cuda', 'taxi', '')
    """
    names = {str(each).lower(): str(each) for each in known}
    name = str(name).lower()
    name = _SYNONYMS[name] if _SYNONYMS.get(name) in names else name
    return next((names[each] for each in get_close_matches(name, names, n=1)), "")


def pick(name: str, known: Collection[str], what: str) -> str:
    """Return a name that is known.

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
    """A table that is missing, damaged, or not what the program was fitted on."""

    exit_code = 65


class DeviceUnavailable(PipelineError, RuntimeError):
    """``device="cuda"`` was asked for and there is no usable GPU."""

    exit_code = 69


class ClusterUnavailable(PipelineError, ConnectionError):
    """A scheduler, or the workers it should have, did not answer in time."""

    exit_code = 69


class WorkerLost(PipelineError, RuntimeError):
    """A worker died, froze or took too much memory, as often as it was tried."""

    exit_code = 71


class OutOfMemory(PipelineError, MemoryError):
    """A step wanted more memory than the machine or the GPU has left."""

    exit_code = 71


class BudgetExceeded(PipelineError, RuntimeError):
    """More bytes would come back from the device than ``host_bytes`` allows."""

    exit_code = 2


class CheckpointDiffers(PipelineError, ValueError):
    """A checkpoint is of other data, another estimator or another seed."""

    exit_code = 65


class ParityError(PipelineError, ValueError):
    """Answers differ that should agree, as those of a lifted model and of the one on a device."""

    exit_code = 65


class OutputError(PipelineError, OSError):
    """The results cannot be written: disk full, read-only folder, a file in the way."""

    exit_code = 73


class OutputLocked(PipelineError):
    """Another process holds the output folder."""

    exit_code = 75


@dataclass(frozen=True)
class Reason:
    """Why a step cannot run where it was asked to, as data.

    Parameters
    ----------
    step : str
        Path of the step in the estimator, ``"columntransformer.onehotencoder"``.
    why : str
        What stands in the way.
    instead : str
        What to do instead.
    parameter : str, optional
        The parameter whose value is at fault.
    """

    step: str
    why: str
    instead: str = ""
    parameter: str | None = None

    def __str__(self) -> str:
        """One line: step, parameter, cause and suggestion."""
        where = f"{self.step}({self.parameter})" if self.parameter else self.step
        return f"{where}: {self.why}" + (f"; {self.instead}" if self.instead else "")


class Unsupported(ConfigError):
    """An estimator, or a part of it, has no faithful equivalent on the device.

    Attributes
    ----------
    reasons : tuple of Reason
        All of them, not just the first.
    """

    def __init__(self, *reasons: Reason) -> None:
        self.reasons = reasons
        super().__init__("\n".join(str(reason) for reason in reasons))


def in_words_of(theirs: Exception, ours: PipelineError) -> PipelineError:
    """Return an error of ours that says what scikit-learn says, and then our way out.

    It is of both classes.

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
    """Add a refusal to what scikit-learn says, as it is asked for what was refused.

    >>> with in_both_words(DataError("pass X.toarray()")):
    ...     raise TypeError("X is no matrix.")
    Traceback (most recent call last):
        ...
    pipeline.errors.DataError: X is no matrix.
    pass X.toarray()
    """
    try:
        yield
    except Warning as told:  # where warnings are errors
        raise refused from told
    except Exception as theirs:
        ours = isinstance(theirs, PipelineError) and not isinstance(theirs, Refused)
        if ours or not isinstance(theirs, AttributeError | LookupError | TypeError | ValueError):
            theirs.add_note(str(refused))  # a fault, or what no other way would mend
            raise
        raise in_words_of(theirs, refused) from theirs


def final(refused: E) -> E:
    """Mark a refusal as one after which no other way of running a step is tried.

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
    """Return the class of what is an error of ours and of scikit-learn."""
    if issubclass(ours, theirs):
        return ours
    if issubclass(theirs, ours):
        return theirs

    # Made here, the class has no name by which pickle would find it.
    def reduce(error: PipelineError) -> tuple[object, ...]:
        return _made, (ours, theirs, str(error), vars(error))

    methods = {"__module__": ours.__module__, "__reduce__": reduce}
    try:
        return type(ours.__name__, (ours, theirs), methods)
    except TypeError:  # Their bases do not go together.
        return ours
