"""Progress of a long command: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pipeline.errors import OutputError

Say = Callable[[str], None]


@contextmanager
def saying() -> Iterator[None]:
    """Raise `OutputError` where the standard output is a file that cannot be written.

    A pipe whose reader is gone is no error.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output: {error.strerror}; nothing more is said") from error


@contextmanager
def progress(what: str, total: int) -> Iterator[Say]:
    """Yield a function that prints a line and counts one step done.

    Parameters
    ----------
    what : str
        Stands before the bar.
    total : int
        Number of lines that will come.

    Examples
    --------
    >>> with progress("runs", 1) as say:
    ...     say("done [1]")
    done [1]
    """
    console = Console()
    if not console.is_terminal:

        def tell(text: str) -> None:
            with saying():
                print(text, file=console.file, flush=True)

        yield tell
        return
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn(),
    )  # fmt: skip
    # Twice a second: drawing must not take processor time from what is measured.
    with Progress(*columns, console=console, refresh_per_second=2, transient=True) as bar:
        task = bar.add_task(what, total=total)

        def say(text: str) -> None:
            bar.console.print(text, markup=False, highlight=False)
            bar.update(task, advance=1, description=f"{what}, {_name(text)}")

        yield say


def _name(line: str) -> str:
    """Return what a line is about: what stands before its numbers.

    >>> _name("logistic  cpu  2/5  1.23 s"), _name("logistic: roc_auc 0.9; 1.23 s")
    ('logistic cpu', 'logistic')
    """
    return " ".join(line.partition(": ")[0].split("  ")[:2])
