"""For scripts, what the commands `new-task` and `report` do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

from msgspec import structs
from rich.console import Console

from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.publish import publish
from pipeline.benchmark.record import results
from pipeline.benchmark.report.terminal import terminal_report
from pipeline.errors import ConfigError, clean, pick
from pipeline.task.included import FOLDER
from pipeline.task.own.new_task import Choices, NewTask, create
from pipeline.task.prepare import prepare
from pipeline.typing import Table


class Report(results.Results, frozen=True, kw_only=True):
    """A comparison, shown as in a terminal, and where its page is."""

    page: str

    def __repr__(self) -> str:
        """Return what a terminal shows of the comparison, and where the page is."""
        console = Console(width=100, color_system=None, force_jupyter=False)
        with console.capture() as shown:
            console.print(terminal_report(self, Path(self.page)))
        return clean(f"{self.task.title}\n{shown.get()}report: {self.page}")

    __str__ = __repr__


def new_task(
    table: str | Path | Table,
    target: str,
    *,
    name: str = "",
    home: str | Path = "data",
    **choices: Any,
) -> NewTask:
    """Make a task of a table of your own, in the folder `tasks` of the working directory.

    Parameters
    ----------
    table : str, Path or frame
        A file as `read_table` takes them, or a pandas, Polars or Arrow table, which is kept below
        `home`.
    target : str
        The column to predict.
    name : str, optional
        Of the task; by default after the file.
    home : str or Path
        Folder of the data.
    **choices
        See `pipeline.task.own.new_task.Choices`: ``kind``, ``ignore``, ``split``,
        ``by``, ``encoding``, ``delimiter``, ``decimal``, ``missing``, ``keep``,
        ``day_first``, ``force``.

    Returns
    -------
    NewTask
        Its ``name``; ``lines()`` says how each column is used.

    Raises
    ------
    ConfigError
        There is no such column or choice, or a task of this name.
    DataError
        The table cannot be read, or nothing can be learnt from it.
    """
    for choice in choices:
        pick(choice, [each.name for each in fields(Choices)], "choice")
    lists = choices.keys() & {"ignore", "missing", "keep"}
    choices |= {each: _listed(choices[each]) for each in lists}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "__init__.py").touch()
    source = Path(table) if isinstance(table, str | Path) else table
    created = create(source, target, Path(home), Choices(name=name, **choices))
    invalidate_caches()  # or Python may not see that there is a new file to import
    return created


def report(
    task: str | NewTask,
    *,
    device: str = "auto",
    repeats: int = 5,
    pipelines: str | Sequence[str] = (),
    home: str | Path = "data",
    out: str | Path | None = None,
    **choices: Any,
) -> Report:
    """Compare the pipelines of a task and write the pages of the report.

    Parameters
    ----------
    task : str or NewTask
        Name of a file in the folder `tasks` of the working directory, or what `new_task` returned.
    device : {"auto", "cpu", "cuda"}
    repeats : int
        Timed runs of each pipeline by each variant.
    pipelines : str or sequence of str
        All by default.
    home : str or Path
        Folder of the data.
    out : str or Path, optional
        Folder of the report; ``reports/<task>`` by default.
    **choices
        ``seed``, ``split``, ``changes``, ``rows`` or ``years``, as on the command line.

    Returns
    -------
    Report
        What was measured, as in ``results.json``, and where the ``page`` is.

    Raises
    ------
    ConfigError
        A name or a choice is not one of those there are.
    DeviceUnavailable
        ``device="cuda"`` and there is no usable GPU.
    """
    for choice in choices:
        pick(choice, ["changes", "rows", "seed", "split", "years"], "choice")
    _check_whole("repeats", repeats, 3, 1_000_000)
    _check_whole("seed", choices.get("seed", 0), 0, 2**32 - 1)
    given = {"seed": 0, "split": None} | choices
    given["changes"] = _listed(choices.get("changes", ()))
    name, names = task.name if isinstance(task, NewTask) else task, ",".join(_listed(pipelines))
    what, job, chosen = prepare(name, device=device, pipelines=names, home=Path(home), **given)
    folder = Path("reports") / name if out is None else Path(out)
    asked = {**given, "device": device, "pipelines": names, "data-home": home, "out": out}
    pairs = [("set", each) for each in asked.pop("changes")]
    pairs += [("repeats", repeats), *((n, v) for n, v in asked.items() if v not in (None, ""))]
    words = [word for n, value in pairs for word in (f"--{n}", str(value))]
    comparison = Comparison(what, job, chosen, device, repeats, command=["report", name, *words])
    publish(comparison, folder, pages=True)
    found = results.load(folder / "results.json")
    return Report(**structs.asdict(found), page=str(folder / "index.html"))


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    """Return names as a list, one by itself as well."""
    return [names] if isinstance(names, str) else names


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(f"{name}={value!r} is not an integer from {least} to {most:,}")
