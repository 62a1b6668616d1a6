"""Cautions: what to know before a score is believed, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from pipeline.task.numerals import NAMED, rest

RANKS = {
    "leak": 1,
    "copies": 1,
    "groups": 1,
    "time": 1,
    "late-training": 1,
    "worse-than-dummy": 1,
    "no-better-than-dummy": 1,
    "perfect-score": 1,
    "unconverged": 2,
    "rare-class": 2,
    "lacking-class": 2,
    "row-id": 2,
    "drift": 2,
    "constant": 3,
    "mostly-missing": 3,
    "duplicate-column": 3,
}
"""Id -> 1 if it makes a score worthless, 2 if it costs quality, 3 for a remark."""
SEVERITIES = {1: "critical", 2: "warning", 3: "note"}
"""Rank -> the word that is shown before the text of a caution."""


class Caution(NamedTuple):
    """What is wrong, and what to do about it; ``Task(mute=[id])`` silences it.

    >>> print(Caution("constant", "'x' has one value: leave it out."))
    note: 'x' has one value: leave it out. [constant]
    """

    id: str
    text: str
    columns: Collection[str] = ()
    """The columns that it is about, if it is about some."""

    def __str__(self) -> str:
        return f"{SEVERITIES[RANKS[self.id]]}: {self.text} [{self.id}]"


def of_names(
    id: str, what: str, found: Mapping[str, str], way: str, column: str = ""
) -> Iterator[Caution]:
    """Yield a caution of columns, or of classes of a column, each with a remark, if there are any.

    >>> print(*of_names("constant", "One value", {"x": "", "y": " (none)"}, "leave it out"))
    note: One value: 'x', 'y' (none): leave it out. [constant]
    """
    if found:
        said = ", ".join(f"{name!r}{remark}" for name, remark in [*found.items()][:NAMED])
        yield Caution(
            id, f"{what}: {said}{rest(len(found))}: {way}.", [column] if column else [*found]
        )


def in_rank(found: Iterable[Caution], mute: Collection[str] = ()) -> list[str]:
    """Return cautions as texts, the worst first, without those of muted ids.

    >>> in_rank([Caution("constant", "'x'."), Caution("leak", "'y'.")], mute=["constant"])
    ["critical: 'y'. [leak]"]
    """
    kept = (caution for caution in found if caution.id not in mute)
    return [str(caution) for caution in sorted(kept, key=lambda caution: RANKS[caution.id])]
