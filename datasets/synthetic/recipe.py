"""What a generated table holds: its recipe, and the features that follow from it.

Plain data, without NumPy: the recipe describes a table before any row is generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .._store import Column
from ..errors import unknown

Kind = Literal["binary", "regression", "ranking", "clusters"]
KINDS: tuple[Kind, ...] = get_args(Kind)

VERSION = 1
"""Part of every manifest: raised whenever a recipe would give other rows than before."""

SHAPES = {
    "normal": Column("number", "float32", "number, normal"),
    "category": Column("category", "category", "one of {:,} levels, Zipf frequencies"),
    "skewed": Column("number", "float32", "number, exponential with mean 1"),
    "uniform": Column("number", "float32", "number, uniform from 0 to 100"),
    "date": Column("date", "timestamp[ms]", "instant in 2020 to 2023, to the second"),
    "identifier": Column("category", "category", "one of {:,} levels, Zipf frequencies"),
    "heavy": Column("number", "float32", "number, logistic tails squared: outliers"),
    "text": Column("text", "string", "one to six words of a vocabulary of 500, Zipf frequencies"),
    "integer": Column("number", "int16", "whole number, 0 to 19, all as likely"),
}
CYCLE = (*SHAPES, "normal")
INFORMATIVE = len(CYCLE)
"""The first columns, one of each shape, determine the target; all others are noise."""

MISSING = (0.0, 0.05, 0.0, 0.2, 0.01, 0.0, 0.1)
LEVELS = (12, 4, 40)
MAX_DICTIONARY = 65_536
"""A category with up to this number of levels is an Arrow dictionary, otherwise plain text."""

LEAST_ROWS = 100
"""Queries repeat after this number of rows."""

_TARGETS = {
    "binary": ("int8", "1 with a known probability, else 0"),
    "regression": ("float32", "a known function of the row plus normal noise"),
    "ranking": ("int8", "relevance to the query, 0 to 4"),
    "clusters": ("int8", "the cluster the row was drawn from, 0 to 7"),
}


@dataclass(frozen=True)
class Feature:
    """One generated column: its place, its shape, its share of missing values and its levels.

    >>> Feature(1, "category", 0.0, 4).name
    'category_1'
    """

    index: int
    shape: str
    missing: float
    levels: int

    @property
    def name(self) -> str:
        """The name of the column."""
        return f"{SHAPES[self.shape].kind}_{self.index}"

    def column(self) -> Column:
        """Return what the manifest says about the column."""
        kind, type_, about = vars(SHAPES[self.shape]).values()
        if self.levels > MAX_DICTIONARY:
            type_ = "string"
        return Column(kind, type_, about.format(self.levels))


@dataclass(frozen=True)
class Recipe:
    """Everything that the rows of a generated table depend on.

    >>> [feature.name for feature in Recipe(columns=3).features()]
    ['number_0', 'category_1', 'number_2']
    """

    kind: Kind = "binary"
    """What the target is."""
    rows: int = 100_000
    """The first rows of a longer table are those of a shorter one."""
    columns: int = 30
    """Features, without the target and the query of a ranking."""
    seed: int = 0
    cardinality: int = 5_000
    """Levels of the columns with many levels."""
    fold: bool = False
    """Whether there is a column `fold` to split by, drawn per row or, in a ranking, per query."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind: {unknown('kind', self.kind, KINDS)}")
        _within("rows", self.rows, LEAST_ROWS, 10**12)
        _within("columns", self.columns, 1, 10_000)
        _within("seed", self.seed, 0, 2**64 - 1)
        _within("cardinality", self.cardinality, 2, 10_000_000)

    def features(self) -> list[Feature]:
        """Return the features in the order of the table."""
        made = []
        for index in range(self.columns):
            turn, place = divmod(index, len(CYCLE))
            levels = {"category": LEVELS[turn % len(LEVELS)], "identifier": self.cardinality}
            missing, shape = MISSING[index % len(MISSING)], CYCLE[place]
            made.append(Feature(index, shape, missing, levels.get(shape, 0)))
        return made

    def schema(self) -> dict[str, Column]:
        """Return all columns, the query, the fold and the target last."""
        columns = {feature.name: feature.column() for feature in self.features()}
        if self.kind == "ranking":
            columns["query"] = Column("split", "int64", "rows of one query stand together")
        if self.fold:
            columns["fold"] = Column("split", "uint8", "0 to 99, drawn per row or query")
        return columns | {"target": Column("target", *_TARGETS[self.kind])}

    @property
    def name(self) -> str:
        """The name of the table: no other recipe has it."""
        shape = f"{self.rows}x{self.columns}-{self.cardinality}"
        return f"{self.kind}-{shape}-seed{self.seed}{'-fold' * self.fold}"

    def sources(self) -> dict[str, str]:
        """Return what the manifest says that the table was made from."""
        return {"recipe": f"version {VERSION} of {self}"}


def _within(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name}: {value!r} is invalid; pass an integer from {low:,} to {high:,}")
