"""What a generated table holds: its recipe, and the features that follow from it.

Plain data, without NumPy: a table is known by its recipe before a row of it is made.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from datasets._store import Column

Kind = Literal["binary", "multiclass", "regression", "ranking", "clusters"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Shape = Literal[
    "normal", "uniform", "skewed", "heavy", "integer", "category", "identifier", "date", "text"
]

VERSION = 1
"""Part of every manifest: raised whenever a recipe would give other rows than before."""

CYCLE: tuple[Shape, ...] = (
    *("normal", "category", "skewed", "uniform", "date"),
    *("identifier", "heavy", "text", "integer", "normal"),
)
INFORMATIVE = len(CYCLE)
"""The first columns, one of each shape, tell of the target; all that follow are noise."""

MISSING = (0.0, 0.05, 0.0, 0.2, 0.01, 0.0, 0.1)
LEVELS = (12, 4, 40)
MAX_DICTIONARY = 65_536
"""Up to so many levels a category is an Arrow dictionary, beyond it plain text."""

CUT = 100
"""Partitions are cut between multiples of so many rows, so that no query is cut."""

_ABOUT = {
    "normal": "number, normal",
    "uniform": "number, uniform from 0 to 100",
    "skewed": "number, exponential with mean 1",
    "heavy": "number, logistic tails squared: outliers",
    "integer": "whole number, 0 to 19, all as likely",
    "date": "instant in 2020 to 2023, to the second",
    "text": "one to six words of a vocabulary of 500, Zipf frequencies",
}
_NAMES = {"category": "category", "identifier": "category", "date": "date", "text": "text"}
_TYPES = {"integer": "int16", "date": "timestamp[ms]", "text": "string"}
_TARGETS = {
    "binary": ("int8", "1 with a known probability, else 0"),
    "multiclass": ("int8", "one of 4 classes, 0 to 3, with known probabilities"),
    "regression": ("float32", "a known function of the row plus normal noise"),
    "ranking": ("int8", "relevance to the query, 0 to 4"),
    "clusters": ("int8", "the cluster the row was drawn from, 0 to 7"),
}


@dataclass(frozen=True)
class Feature:
    """One generated column.

    Parameters
    ----------
    index : int
        Place in the table, from 0; selects the column's stream of random numbers.
    shape : str
        How its values are distributed.
    missing : float
        Share of its values that are missing.
    levels : int
        Number of categories; 0 for other shapes.
    """

    index: int
    shape: Shape
    missing: float
    levels: int

    @property
    def name(self) -> str:
        """Return the name of the column.

        Examples
        --------
        >>> Feature(1, "category", 0.0, 4).name
        'category_1'
        """
        return f"{_NAMES.get(self.shape, 'number')}_{self.index}"

    def column(self) -> Column:
        """Return what the manifest tells of the column."""
        if self.levels:
            kind = "category" if self.levels <= MAX_DICTIONARY else "string"
            return Column("category", kind, f"one of {self.levels:,} levels, Zipf frequencies")
        about = _ABOUT[self.shape]
        group: Any = self.shape if self.shape in ("date", "text") else "number"
        return Column(group, _TYPES.get(self.shape, "float32"), about)


@dataclass(frozen=True)
class Recipe:
    """All that the rows of a generated table depend on.

    Parameters
    ----------
    kind : {"binary", "multiclass", "regression", "ranking", "clusters"}, default="binary"
        What the target is.
    rows : int, default=100_000
        From 100. The first rows of a longer table are those of a shorter one.
    columns : int, default=30
        Features, 1 to 10,000; the target, and the query of a ranking, come on top.
    seed : int, default=0
        From 0 to 2**64 - 1.
    cardinality : int, default=5_000
        Levels of the columns with many, 2 to 10,000,000.
    fold : bool, default=False
        Whether there is a column `fold`, 0 to 99, to split by: drawn per row, of a ranking per
        query, so that no split goes through one.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> [feature.name for feature in Recipe(columns=3).features()]
    ['number_0', 'category_1', 'number_2']
    """

    kind: Kind = "binary"
    rows: int = 100_000
    columns: int = 30
    seed: int = 0
    cardinality: int = 5_000
    fold: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind: {self.kind!r} is not one of {', '.join(KINDS)}")
        _within("rows", self.rows, CUT, 10**12)
        _within("columns", self.columns, 1, 10_000)
        _within("seed", self.seed, 0, 2**64 - 1)
        _within("cardinality", self.cardinality, 2, 10_000_000)

    def features(self) -> list[Feature]:
        """Return the features in the order of the table."""
        return [self._feature(index) for index in range(self.columns)]

    def _feature(self, index: int) -> Feature:
        shape, turn = CYCLE[index % len(CYCLE)], index // len(CYCLE)
        levels = {"category": LEVELS[turn % len(LEVELS)], "identifier": self.cardinality}
        return Feature(index, shape, MISSING[index % len(MISSING)], levels.get(shape, 0))

    def schema(self) -> dict[str, Column]:
        """Return all columns, the query, the fold and the target last."""
        columns = {feature.name: feature.column() for feature in self.features()}
        if self.kind == "ranking":
            columns["query"] = Column("split", "int64", "rows of one query stand together")
        if self.fold:
            columns["fold"] = Column("split", "uint8", "0 to 99, drawn per row or query")
        return columns | {"target": Column("target", *_TARGETS[self.kind])}

    def about(self) -> dict[str, Any]:
        """Return the recipe as its manifest keeps it."""
        return {"version": VERSION, **asdict(self)}

    def cuts(self, partitions: int | None = None) -> list[int]:
        """Return where partitions begin, and the number of rows last.

        Parameters
        ----------
        partitions : int, optional
            One per million rows if not given.

        Examples
        --------
        >>> Recipe(rows=1_050).cuts(3)
        [0, 300, 700, 1050]
        """
        count = math.ceil(self.rows / 1_000_000) if partitions is None else partitions
        _within("partitions", count, 1, min(self.rows // CUT, 100_000))
        return [self.rows * k // count // CUT * CUT for k in range(count)] + [self.rows]


def _within(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name}: {value!r} is not a whole number from {low:,} to {high:,}")
