"""Cautions: what to know before a score is believed, and a way out."""

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
"""Id -> 1 where it makes a score worthless, 2 where it costs quality, 3 for a remark."""


class Caution(NamedTuple):
    """What is wrong, and what to do about it; ``Task(mute=[id])`` silences it.

    >>> print(Caution("constant", "'x' has one value: leave it out."))
    'x' has one value: leave it out. [constant]
    """

    id: str
    text: str

    def __str__(self) -> str:
        return f"{self.text} [{self.id}]"


def of_names(id: str, what: str, found: Mapping[str, str], way: str) -> Iterator[Caution]:
    """Yield a caution of columns or classes, each with a remark, if there are any.

    >>> print(*of_names("constant", "One value", {"x": "", "y": " (none)"}, "leave it out"))
    One value: 'x', 'y' (none): leave it out. [constant]
    """
    if found:
        said = ", ".join(f"{name!r}{remark}" for name, remark in [*found.items()][:NAMED])
        yield Caution(id, f"{what}: {said}{rest(len(found))}: {way}.")


def in_rank(found: Iterable[Caution], mute: Collection[str] = ()) -> list[str]:
    """Return cautions as texts, the worst first, without those of muted ids.

    >>> in_rank([Caution("constant", "'x'."), Caution("leak", "'y'.")], mute=["constant"])
    ["'y'. [leak]"]
    """
    kept = (caution for caution in found if caution.id not in mute)
    return [str(caution) for caution in sorted(kept, key=lambda caution: RANKS[caution.id])]
