"""Guesses of what the words of a column stand for: truth values, missing values, spellings."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pipeline.data.table_format import Boolean

_NONE = {"", "?", "??", "???", "n/a", "n.a.", "n.a", "n. a.", "#n/a", "#na", "#div/0!", "#value!"}
_NONE |= {"#ref!", "#name?", "#num!", "#null!", "<na>", "\\n", "(null)", "null", "nan", "na"}
"""What stands for no value in any column, in small letters."""
_NO_DAY: tuple[str, ...] = ("0000-00-00", "00.00.0000", "00/00/0000", "9999-12-31", "31.12.9999")
_NO_DAY += ("31/12/9999", "12/31/9999")
_PERHAPS = {"-", "--", "---", "–", "—", ".", "none", "nil", "missing"}
_PERHAPS |= {"unknown", "unk", "unk.", "undefined", "not available", "not applicable", "not known"}
_PERHAPS |= {"n/d", "n.d.", "nd", "tbd", "tba", "empty", "no data", "k.a.", "k. a.", "keine angabe"}
_PERHAPS |= {"(none)", "(missing)", "(blank)", "[null]", "blank", "void"}
_PERHAPS |= {f"{day}{time}" for day in _NO_DAY for time in ("", " 00:00", " 00:00:00")}
"""What stands for no value among numbers, and may be a value among words."""
_SIGNS = re.compile(r"[-–—*?./#_~:]+")
_PAIRS = (
    ({"yes", "y", "true", "t", "1"}, {"no", "n", "false", "f", "0"}),
    ({"on"}, {"off"}),
    ({"ja", "j", "wahr"}, {"nein", "n", "falsch"}),
    ({"oui", "o", "vrai"}, {"non", "n", "faux"}),
    ({"sí", "si", "s", "sì", "verdadero"}, {"no", "n", "falso"}),
    ({"sim", "s", "verdadeiro"}, {"não", "nao", "n", "falso"}),
    ({"ja", "j"}, {"nee", "nej", "nei", "n"}),
    ({"tak", "t"}, {"nie", "n"}),
    ({"да", "д"}, {"нет", "н"}),
    ({"kyllä", "k"}, {"ei", "e"}),
    ({"evet", "e"}, {"hayır", "h"}),
    ({"ano", "a"}, {"ne", "n"}),
    ({"是"}, {"否"}),
    ({"✓", "✔", "☑", "x"}, {"✗", "✘", "☐", "-"}),
)
"""Words for true and for false."""
YES = {word for yes, _ in _PAIRS for word in yes if len(word) > 1}
"""Words for true, letters left out."""
_SHORT = 2
"""Letters of a code, in which capitals may tell values apart."""


class Spellings(NamedTuple):
    """Spellings of the values of a column.

    Parameters
    ----------
    same : dict of str to str
        Spelling -> the most frequent one of the same value.
    apart : list of tuple of str
        Codes that differ by capitals only, and are kept apart.
    """

    same: dict[str, str]
    apart: list[tuple[str, str]]


def stands_for_none(word: str, *, among_words: bool) -> bool:
    """Whether a tidy cell is a mark of a missing value.

    >>> [stands_for_none(each, among_words=True) for each in ("?", "n/a", "-", "Na", "x")]
    [True, True, False, False, False]
    >>> stands_for_none("-", among_words=False)
    True
    """
    if among_words and word == "Na":  # Sodium.
        return False
    if word.lower() in _NONE:
        return True
    return not among_words and (word.lower() in _PERHAPS or bool(_SIGNS.fullmatch(word)))


def may_stand_for_none(word: str) -> bool:
    """Whether a word may be a value, and may stand for none."""
    return word.lower() in _PERHAPS


def guess_boolean(words: Iterable[str]) -> Boolean | None:
    """Return which words are true and which are false, if all are.

    >>> guess_boolean(["Yes", "no", "NO"])
    Boolean(true=('Yes',), false=('no',), missing=(), stray='error')
    """
    spelled: dict[str, str] = {}
    for word in words:
        spelled.setdefault(word.lower(), word)
    for true, false in _PAIRS:
        if spelled.keys() <= true | false and spelled.keys() & true and spelled.keys() & false:
            chosen = ([spelled[each] for each in spelled if each in side] for side in (true, false))
            return Boolean(true=tuple(next(chosen)), false=tuple(next(chosen)))
    return None


def denies(word: str) -> bool:
    """Whether a word says no.

    >>> denies("No"), denies("X")
    (True, False)
    """
    return any(word.lower() in false for _, false in _PAIRS)


def fold(word: str) -> str:
    """Return what is the same for all spellings of a value."""
    return unicodedata.normalize("NFKC", " ".join(word.split())).casefold()


def guess_spellings(counts: Mapping[str, int]) -> Spellings:
    """Return which spellings are the same value.

    Parameters
    ----------
    counts : dict of str to int
        Tidy cell -> how often it occurs.

    Examples
    --------
    >>> guess_spellings({"yes": 5, "YES": 2, "m": 9, "M": 9})
    Spellings(same={'YES': 'yes'}, apart=[('m', 'M')])
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for word in sorted(counts, key=lambda word: (-counts[word], word.isupper(), word)):
        groups[fold(word)].append(word)
    boolean = guess_boolean(counts) is not None
    several = {key: words for key, words in groups.items() if len(words) > 1}
    codes = {
        key
        for key, words in several.items()
        if not boolean and _are_codes([counts[each] for each in words], key)
    }
    same = {w: words[0] for k, words in several.items() if k not in codes for w in words[1:]}
    return Spellings(same, [(several[key][0], several[key][1]) for key in codes])


def _are_codes(counts: list[int], key: str) -> bool:
    """Whether spellings are short, and the second is too frequent to be a slip."""
    return len(key) <= _SHORT and counts[1] > 0.05 * sum(counts)
