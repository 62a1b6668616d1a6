"""Progress of a long command: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from pipeline.errors import clean
from pipeline.system.atomic import writing

Say = Callable[[str], None]
_ONE_LINE = Column(no_wrap=True, overflow="ellipsis")


@contextmanager
def progress(what: str, total: int) -> Iterator[Say]:
    """Yield a function that prints a line and counts one of `total` steps done.

    >>> with progress("runs", 1) as say:
    ...     say("done [1]")
    done [1]
    """
    console = Console()
    name = TextColumn("{task.description}", markup=False, table_column=_ONE_LINE)
    times = TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()
    # Drawing must not take processor time from what is measured, so it is done twice a second.
    # Rich takes for a terminal what the environment says is one, such as the log of a CI.
    bar = Progress(
        name, BarColumn(20), MofNCompleteColumn(), *times, console=console, refresh_per_second=2,
        transient=True, speed_estimate_period=math.inf,
    )  # fmt: skip
    task = bar.add_task(what, total=total)
    draws = console.is_interactive and console.file.isatty()

    def say(text: str) -> None:
        if draws:
            console.print(clean(text), markup=False, highlight=False)
            bar.advance(task)
        else:
            with writing(Path("standard output")):
                print(clean(text), file=console.file, flush=True)

    with bar if draws else nullcontext():
        yield say
