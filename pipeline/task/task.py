"""A task: a dataset, a split, scikit-learn pipelines, and how they are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from pipeline.errors import ConfigError, pick
from pipeline.task.cautions.caution import RANKS
from pipeline.task.faults import blamed_on
from pipeline.task.included import FOLDER, TASKS, dataset, task_module
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
    """Which rows are for training and which for the test.

    Parameters
    ----------
    train, test : sequence of tuple
        Conditions on columns: (column, test, value).
    about : str
        Description of the split.
    time : str or sequence of str
        Time column of a split by time, or several columns, such as year and month. It is detected
        if the conditions compare one column with a date, or if the split is called "time".
    groups : str
        Group column of a split by groups.
    """

    train: Filter
    test: Filter
    about: str
    time: Sequence[str] | str = ()
    groups: str = ""

    def __post_init__(self) -> None:
        if self.time and self.groups:
            raise ConfigError(f"split {self.about!r}: pass time={self.time!r} or groups=, not both")
        for condition in (*self.train, *self.test):
            if len(condition) != 3 or condition[1] not in TESTS:
                raise ConfigError(
                    f"split {self.about!r}: {condition!r} is not a condition; write (column, test, "
                    f"value), where test is one of {', '.join(TESTS)}"
                )


@dataclass(frozen=True, kw_only=True)
class Task:
    """The definition of a task: data, split, pipelines and metrics.

    Parameters
    ----------
    name, title : str
    dataset : str, optional
        Module of `datasets` that provides the data.
    prepare : callable
        ``prepare(home)`` creates the data below the folder `home` if needed, verifies it and
        returns the path of the Parquet file, or of a folder of them. It may have keyword
        parameters: ``given`` for a file that you downloaded yourself, ``rows`` for generated data,
        and others.
    features : sequence of str or str
        Columns to learn from. A single string passes the pipeline one column instead of a table,
        as text vectorizers require.
    target : str
        Column to predict: 0 or 1, a class, or a number.
    pipelines : mapping of str to callable
        ``make(seed)`` returns an unfitted scikit-learn pipeline.
    splits : mapping of str to Split
        The first one is the default.
    metrics : sequence of str, or mapping of str to str or scorer
        Names of scikit-learn's scorers, such as ``["roc_auc", "neg_log_loss"]``, shown without
        ``neg_``; or a mapping from the name to show to a scorer, the name of one, or a function
        of :mod:`sklearn.metrics`. Wrap your own functions with `make_scorer`; for a ranking they
        get matrices with one query per row.
    margins : mapping of str to float
        Largest absolute difference from the reference that counts as equal, by metric.
    licence, source : str
        Licence and source of the data.
    kind : {"binary", "multiclass", "regression", "ranking", "clusters"}
        What is predicted. For clusters, the target is only used for evaluation.
    query : str
        Column with the query of each row, for a ranking.
    positive : object, optional
        The positive class of a binary task, such as ``"bad"``; not needed if the target is 0 and
        1, or False and True.
    weight : str
        Column with the sample weights, for `fit` and for metrics that accept weights.
    format : TableFormat, optional
        How files with rows to predict are read.
    row_id : str
        Column with the row number in the original file.
    spaces : mapping of str to mapping or str
        Search space of `make tune` by pipeline: a list of values or a distribution, such as
        ``randint(1, 9)``, for each parameter; or ``"default"``, as for pipelines not listed.
    mute : sequence of str
        Ids of cautions to hide, such as ``"groups"``.
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
        pick(self.kind, get_args(Kind), f"kind of {self.name}:")
        self._check_parts()
        for caution in self.mute:
            pick(caution, RANKS, f"caution in mute= of {self.name}:")
        if (self.kind == "ranking") != bool(self.query):
            raise ConfigError(f"{self.name}: set query= for kind 'ranking', and only for it")
        if self.positive is not None and self.kind != "binary":
            raise ConfigError(f"{self.name}: positive={self.positive!r} needs kind='binary'")
        if self.weight and self.kind in ("ranking", "clusters"):
            raise ConfigError(f"{self.name}: kind {self.kind!r} takes no weight; remove weight=")
        for name in filter(None, (self.target, self.weight, self.row_id)):
            if name in self.columns:
                raise ConfigError(f"{self.name}: {name!r} cannot be a feature; remove it")
        object.__setattr__(self, "metrics", scorers_of(self.name, self.kind, self.metrics))

    def _check_parts(self) -> None:
        """Reject a task without pipelines, splits or metrics."""
        for part in ("pipelines", "splits", "metrics"):
            if not getattr(self, part):
                raise ConfigError(f"{self.name}: {part} is empty; give at least one")
        for name, function in self.pipelines.items():
            if not callable(function):
                told = f"pipeline {name!r} is {function!r}; pass a function that takes the seed"
                raise ConfigError(f"{self.name}: {told}")
        for name, space in self.spaces.items():
            pick(name, self.pipelines, f"pipeline in spaces= of {self.name}:")
            if space != "default" and not (isinstance(space, Mapping) and space):
                told = f"the space of {name!r} is {space!r}; give values by parameter, or 'default'"
                raise ConfigError(f"{self.name}: {told}")

    @property
    def columns(self) -> list[str]:
        """Names of the features."""
        return [self.features] if isinstance(self.features, str) else list(self.features)

    @property
    def others(self) -> list[str]:
        """Names of the columns that are read in addition to the features."""
        return [self.target, *filter(None, (self.query, self.weight))]

    def data(self, home: Path, given: Path | None = None, **asked: Any) -> Path:
        """Create the data if needed, verify it and return its path.

        Parameters
        ----------
        home : Path
            Folder of all data.
        given : Path, optional
            A file that you downloaded yourself.
        **asked
            ``rows`` of a generated table, ``years`` of the flights; None is the task's default.
        """
        asked = {n: value for n, value in {"given": given, **asked}.items() if value is not None}
        for name in set(asked) - set(signature(self.prepare).parameters):
            option = "from" if name == "given" else name
            raise ConfigError(f"{self.name}: its data have no option --{option}; remove it")
        with blamed_on(f"{self.name}: its data cannot be created"):
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
        """Return an unfitted pipeline.

        Parameters
        ----------
        name : str
            Key of `pipelines`.
        seed : int
            Random seed of the pipeline.
        changes : mapping, optional
            Nested parameter name -> value, as for scikit-learn's `set_params`.
        """
        make = self.pipelines[pick(name, self.pipelines, "pipeline")]
        with blamed_on(f"{self.name}: the pipeline {name!r} cannot be created"):
            pipeline = make(seed)
        if isinstance(pipeline, type) or not hasattr(pipeline, "fit"):
            raise ConfigError(
                f"{self.name}: the pipeline {name!r} is {pipeline!r}; return an estimator"
            )
        for parameter in changes or {}:
            pick(parameter, pipeline.get_params(), f"parameter of the pipeline {name}:")
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
    """Folder for the trees of a training that may be interrupted."""


def task_names() -> list[str]:
    """Return the names of the tasks in the folder and of those included, importing none."""
    files = [path for folder in (FOLDER, TASKS) for path in folder.glob("*.py")]
    return sorted({path.stem for path in files if not path.stem.startswith("_")})


class Facts(NamedTuple):
    """What is to be known of a task before its data are there."""

    kind: str
    rows: int
    """Of its dataset, about; 0 if not known. Of generated data, those of the default."""
    needs: str
    """What it takes to have the data."""
    summary: str
    """The first line of the task's docstring."""


def facts(name: str) -> Facts:
    """Return what a task and its dataset say of the data."""
    task = load(name)
    with blamed_on(f"the dataset of the task {name!r} cannot be loaded"):
        data = dataset(task.dataset) if task.dataset else None
    rows: Any = getattr(data, "ROWS", 0)
    rows = rows[task.kind] if isinstance(rows, dict) else rows
    download = getattr(data, "DOWNLOAD", "")
    needs = f"{download} to download" if download else "-"
    if "rows" in signature(task.prepare).parameters:
        needs = "generated, any ROWS"
    summary = (task_module(name).__doc__ or "").strip().partition("\n")[0]
    return Facts(task.kind, rows, needs, summary)


def load(name: str) -> Task:
    """Import a task by name.

    `ConfigError` says that the task or the folder of tasks does not exist, or what is faulty.
    """
    if not FOLDER.is_dir() and not TASKS.is_dir():
        raise ConfigError("the folder `tasks` is missing; run from the root of the repository")
    pick(name, task_names(), "task" if FOLDER.is_dir() else "task (no folder `tasks` here)")
    where = f"{FOLDER / name}.py"
    with blamed_on(f"the task {name!r} cannot be loaded"):
        found = getattr(task_module(name), "TASK", None)
    if not isinstance(found, Task):
        raise ConfigError(f"{where}: `TASK = Task(...)` is missing; see docs/tasks.md")
    if found.name != name:
        raise ConfigError(f"{where}: the task is named {found.name!r}; rename it to {name!r}")
    for metric in found.margins:
        pick(metric, found.metrics, f"metric in margins= of {name}:")
    return found
