"""Cautions: what to know before a score is believed.

Each names columns and numbers and a way out. The first rank makes a score worthless, the second
costs quality, the third is a remark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

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
    "imbalance": 2,
    "lacking-class": 2,
    "row-id": 2,
    "constant-in-training": 2,
    "drift": 2,
    "unseen-values": 2,
    "constant": 3,
    "mostly-missing": 3,
    "duplicate-column": 3,
    "few-test-rows": 3,
}
"""Id of each caution -> its rank."""


@dataclass(frozen=True)
class Caution:
    """What is wrong, and what to do about it.

    Parameters
    ----------
    id : str
        One of `RANKS`; ``Task(mute=[id])`` silences it.
    text : str
        A sentence.

    Examples
    --------
    >>> print(Caution("constant", "'x' has one value: leave it out."))
    'x' has one value: leave it out. [constant]
    """

    id: str
    text: str

    @property
    def rank(self) -> int:
        """1 where it makes a score worthless, 2 where it costs quality, 3 for a remark."""
        return RANKS[self.id]

    def __str__(self) -> str:
        return f"{self.text} [{self.id}]"


def in_rank(found: Iterable[Caution], mute: Collection[str] = ()) -> list[str]:
    """Return cautions as texts, the worst first, without those of muted ids.

    >>> in_rank([Caution("constant", "'x'."), Caution("leak", "'y'.")], mute=["constant"])
    ["'y'. [leak]"]
    """
    kept = (caution for caution in found if caution.id not in mute)
    return [str(caution) for caution in sorted(kept, key=lambda caution: caution.rank)]
