"""A task: a dataset, a split, scikit-learn programs, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from pipeline.errors import ConfigError, pick
from pipeline.task.cautions.caution import RANKS
from pipeline.task.faults import FOLDER as FOLDER
from pipeline.task.faults import blamed_on
from pipeline.task.scoring import scorers_of

if TYPE_CHECKING:
    from pipeline.files.files import Filter
    from pipeline.files.table_format import TableFormat

Kind = Literal["binary", "multiclass", "regression", "ranking", "clusters"]
CLOCK = "from opening the Parquet file to predictions of the test rows on the host"
ON_GPU = ("cuda", "accel")
TESTS = ("=", "==", "!=", "<", "<=", ">", ">=", "in", "not in")


@dataclass(frozen=True)
class Split:
    """Which rows to learn from and which to judge on.

    Parameters
    ----------
    train, test : sequence of tuple
        Conditions on columns: (column, test, value).
    about : str
        In words.
    time : str or sequence of str
        Column of the time that it goes by, or several, as year and month. One that is cut at a
        date, or in a split called "time", is known.
    groups : str
        Column of the groups that it goes by.
    """

    train: Filter
    test: Filter
    about: str
    time: Sequence[str] | str = ()
    groups: str = ""

    def __post_init__(self) -> None:
        if self.time and self.groups:
            raise ConfigError(f"split {self.about!r}: goes by time={self.time!r} or by groups=")
        for condition in (*self.train, *self.test):
            if len(condition) != 3 or condition[1] not in TESTS:
                raise ConfigError(
                    f"split {self.about!r}: {condition!r} is no condition; write it as (column, "
                    f"test, value), with a test of {', '.join(TESTS)}"
                )


@dataclass(frozen=True, kw_only=True)
class Task:
    """Everything that is decided before a run.

    Parameters
    ----------
    name, title : str
    dataset : str, optional
        Module of `datasets` whose data it is.
    prepare : callable
        ``prepare(home)`` makes the data below a folder if need be, verifies it and returns the
        path of the Parquet file, or of a folder of them. It may have choices by name: ``given=``
        a path that was downloaded by hand, ``rows=`` of generated data, and others.
    features : sequence of str or str
        Columns to learn from; a name by itself gives the program the column, as text wants it.
    target : str
        Column to predict: 0 or 1, a class, or a number.
    pipelines : mapping of str to callable
        ``make(seed)`` returns the unfitted scikit-learn program.
    splits : mapping of str to Split
        The first one is the default.
    metrics : sequence of str, or mapping of str to str or scorer
        Names of scikit-learn's scorers, as ``["roc_auc", "neg_log_loss"]``, shown without
        ``neg_``; or the name to be shown -> a scorer, its name, or a function of
        :mod:`sklearn.metrics`. `make_scorer` makes one of a function of your own; of a ranking
        it gets matrices with a query in each row.
    margins : mapping of str to float
        Largest absolute difference from the reference that counts as equal.
    licence, source : str
        Of the data.
    kind : {"binary", "multiclass", "regression", "ranking", "clusters"}
        What is predicted. Of clusters the target is known and not learnt from.
    query : str
        Column with the query of each row, of a ranking.
    positive : object, optional
        Value of the target that a binary task is about, as ``"bad"``; it may be left out where the
        target is 0 and 1, or False and True.
    weight : str
        Column with the weight of each row, for `fit` and for the metrics that take weights.
    format : TableFormat, optional
        How files with rows to predict are read.
    row_id : str
        Column with the number of each row in the file that the data were made of.
    spaces : mapping of str to mapping or str
        Pipeline -> what `make tune` draws its parameters from: each parameter with a list of values
        or a distribution, as ``randint(1, 9)``; or ``"default"``, as for those that are not named.
    mute : sequence of str
        Ids of cautions that are not to be shown, as ``"groups"``.
    """

    name: str
    title: str
    prepare: Callable[..., Path]
    features: Sequence[str] | str
    target: str
    pipelines: Mapping[str, Callable[[int], Any]]
    splits: Mapping[str, Split]
    metrics: Any
    margins: Mapping[str, float]
    licence: str
    source: str
    kind: Kind = "binary"
    query: str = ""
    dataset: str = ""
    positive: Any = None
    weight: str = ""
    format: TableFormat | None = None
    row_id: str = ""
    spaces: Mapping[str, Any] = field(default_factory=dict)
    mute: Sequence[str] = ()

    def __post_init__(self) -> None:
        pick(self.kind, get_args(Kind), f"kind of {self.name}")
        self._check_parts()
        for caution in self.mute:
            pick(caution, RANKS, f"caution that {self.name} mutes,")
        if (self.kind == "ranking") != bool(self.query):
            raise ConfigError(f"{self.name}: a task of kind 'ranking', and no other, names a query")
        if self.positive is not None and self.kind != "binary":
            raise ConfigError(f"{self.name}: positive={self.positive!r} is for kind 'binary'")
        if self.weight and self.kind in ("ranking", "clusters"):
            raise ConfigError(f"{self.name}: weight={self.weight!r}: kind {self.kind!r} takes none")
        for name in filter(None, (self.target, self.weight, self.row_id)):
            if name in self.columns:
                raise ConfigError(f"{self.name}: {name!r} is no feature; leave it out")
        object.__setattr__(self, "metrics", scorers_of(self.name, self.kind, self.metrics))

    def _check_parts(self) -> None:
        """Refuse a task without pipelines, splits or metrics."""
        for part in ("pipelines", "splits", "metrics"):
            if not getattr(self, part):
                raise ConfigError(f"{self.name}: {part} is empty; there must be one")
        for name, function in self.pipelines.items():
            if not callable(function):
                raise ConfigError(f"{self.name}: {name!r} is {function!r}, which is no function")
        for name, space in self.spaces.items():
            pick(name, self.pipelines, f"pipeline among the spaces of {self.name}")
            if space != "default" and not (isinstance(space, Mapping) and space):
                told = f"the space of {name!r} is {space!r}; give each parameter what it is drawn"
                raise ConfigError(f"{self.name}: {told} from, or 'default'")

    @property
    def columns(self) -> list[str]:
        """Names of the features."""
        return [self.features] if isinstance(self.features, str) else list(self.features)

    @property
    def others(self) -> list[str]:
        """Names of the columns that are read beside the features."""
        return [self.target, *filter(None, (self.query, self.weight))]

    def data(self, home: Path, given: Path | None = None, **asked: Any) -> Path:
        """Make the data if need be, verify it and return its path.

        Parameters
        ----------
        home : Path
            Folder of all data.
        given : Path, optional
            What was downloaded by hand.
        **asked
            ``rows`` of a generated table, ``years`` of the flights; None is the task's own.
        """
        asked = {n: value for n, value in {"given": given, **asked}.items() if value is not None}
        for name in set(asked) - set(signature(self.prepare).parameters):
            option = "from" if name == "given" else name
            raise ConfigError(f"{self.name}: its data leave no such choice; leave out --{option}")
        with blamed_on(f"{self.name}: its data cannot be made"):
            try:
                return Path(self.prepare(home, **asked))
            except ValueError as error:
                if hasattr(error, "exit_code") or {*asked} <= {"given"}:
                    raise
                raise ConfigError(f"--{error}") from error

    def split(self, name: str | None) -> tuple[str, Split]:
        """Return a split by name, the default one for None."""
        name = name or next(iter(self.splits))
        return name, self.splits[pick(name, self.splits, "split")]

    def pipeline(self, name: str, seed: int, changes: Mapping[str, Any] | None = None) -> Any:
        """Return an unfitted program.

        Parameters
        ----------
        name : str
            Key of `pipelines`.
        seed : int
            For everything random in it.
        changes : mapping, optional
            Nested parameter name -> value, as for scikit-learn's `set_params`.
        """
        make = self.pipelines[pick(name, self.pipelines, "pipeline")]
        with blamed_on(f"{self.name}: the pipeline {name!r} cannot be made"):
            pipeline = make(seed)
        if isinstance(pipeline, type) or not hasattr(pipeline, "fit"):
            raise ConfigError(f"{self.name}: the pipeline {name!r} is no estimator: {pipeline!r}")
        for parameter in changes or {}:
            pick(parameter, pipeline.get_params(), f"parameter of {name}")
        return pipeline.set_params(**(changes or {}))


def in_words(rows: Filter) -> str:
    """Return conditions on columns as one reads them.

    >>> in_words([("sold", "<", date(2024, 1, 31)), ("kind", "in", ["a", "b"])])
    "sold < 2024-01-31 and kind in ['a', 'b']"
    """
    shown = (v if isinstance(v, date) else repr(v) for *_, v in rows)
    said = (f"{name} {test} {value}" for (name, test, _), value in zip(rows, shown, strict=True))
    return " and ".join(said) or "all rows"


@dataclass(frozen=True)
class Job:
    """What to run; plain data, so that another process can be sent it."""

    task: str
    pipeline: str
    variant: str
    """A device of `Accelerated`, or one of `PLAIN`."""
    path: Path
    """The prepared Parquet file."""
    seed: int = 0
    split: str | None = None
    """None is the task's default."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Nested parameter name -> value, laid over the pipeline."""
    checkpoint: Path | None = None
    """Folder for the trees of a training that may be broken off."""


def task_names() -> list[str]:
    """Return the names of the tasks in the folder, importing none."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def published() -> list[str]:
    """Return the names of the project's tasks: those of a dataset, and no one's own."""
    found = []
    for name in task_names():
        with suppress(ConfigError):  # A file that cannot be loaded is someone's work.
            found += [name] if facts(name).folder else []
    return found


def summary(name: str) -> str:
    """Return the first line of a task's docstring."""
    load(name)
    return (import_module(f"tasks.{name}").__doc__ or "").strip().partition("\n")[0]


class Facts(NamedTuple):
    """What is to be known of a task before its data are there."""

    kind: str
    rows: int
    """Of its dataset, about; 0 if not known. Of generated data, those of the default."""
    needs: str
    """What it takes to have the data."""
    folder: str
    """Of the dataset below the folder of the data; empty if not known."""


def facts(name: str) -> Facts:
    """Return what a task and its dataset say of the data.

    Raises
    ------
    ConfigError
        The file cannot be loaded, or names a dataset that there is not.
    """
    task = load(name)
    with blamed_on(f"the task {name!r} has no such dataset"):
        data = import_module(f"datasets.{task.dataset}") if task.dataset else None
    rows: Any = getattr(data, "ROWS", 0)
    rows = rows[task.kind] if isinstance(rows, dict) else rows
    download = getattr(data, "DOWNLOAD", "")
    needs = f"{download} to download" if download else "-"
    if "rows" in signature(task.prepare).parameters:
        needs = "generated, any ROWS"
    return Facts(task.kind, rows, needs, getattr(data, "NAME", ""))


def load(name: str) -> Task:
    """Import a task by name.

    Raises
    ------
    ConfigError
        There is no such task, no folder of tasks here, or the file is at fault.
    """
    if not FOLDER.is_dir():
        raise ConfigError("no folder `tasks` here; run from the root of the repository")
    pick(name, task_names(), "task")
    where = f"{FOLDER / name}.py"
    with blamed_on(f"the task {name!r} cannot be loaded"):
        paths = [Path(path).resolve() for path in import_module("tasks").__path__]
        if FOLDER.resolve() not in paths:
            way = f"make an empty {FOLDER}/__init__.py, or run from there"
            raise ConfigError(f"Python finds the package `tasks` in {paths[0]}, not here; {way}")
        found = getattr(import_module(f"tasks.{name}"), "TASK", None)
    if not isinstance(found, Task):
        raise ConfigError(f"{where}: it has no `TASK = Task(...)`; see docs/tasks.md")
    if found.name != name:
        raise ConfigError(f"{where}: its task is named {found.name!r}; name it {name!r}")
    for metric in found.margins:
        pick(metric, found.metrics, f"metric among the margins of {name}")
    return found
