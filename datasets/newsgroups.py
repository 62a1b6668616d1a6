"""Messages to twenty newsgroups: which group was it written to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from . import _store, _tables
from ._download import Remote
from ._store import Card, Column

NAME = "newsgroups"
TITLE = "Messages to twenty newsgroups: which group?"
LICENCE = "none stated: public messages of 1993, collected for research"
SOURCE = "Ken Lang's collection, sorted by date, the copy that scikit-learn fetches"
CITATION = "Lang, K. (1995). NewsWeeder: learning to filter netnews. ICML."
ROWS = 18_846
DOWNLOAD = "14 MB"
TARGET = "group"

COLUMNS = {
    "later": Column("split", "int8", "1 if in the later part, which is for testing, else 0"),
    "text": Column("text", "string", "the message without its header"),
    "words": Column("number", "int32", "words of the text"),
    "lines": Column("number", "int32", "lines of the text"),
    "quoted": Column("number", "float32", "share of the lines that quote, which begin with >"),
    "capitals": Column("number", "float32", "share of capitals among the letters, 0 without any"),
    "distribution": Column("category", "category", "how widely it was to spread, empty if unknown"),
    "group": Column("target", "int8", "0 to 19, in the order of the groups' names"),
}
RAW = Remote(
    "20news-bydate.tar.gz",
    "https://ndownloader.figshare.com/files/5975967",
    "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
)
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, remotes=[RAW])


def build(files: Mapping[str, Path]) -> Iterator[Any]:
    """Yield the table, in the order of the archive's names."""
    messages = sorted(_messages(files[RAW.file]))
    groups = sorted({group for _, group, _, _ in messages})
    made = [_columns(message) for *_, message in messages]
    yield _tables.conform(
        {
            "later": [int(part.endswith("-test")) for part, *_ in messages],
            "group": [groups.index(group) for _, group, _, _ in messages],
            **{name: [row[name] for row in made] for name in made[0]},
        },
        COLUMNS,
    )


LARGEST = 1 << 20
"""Bytes beyond which a member of the archive is taken for no message."""


def _messages(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield part, group, number and content of every message."""
    import tarfile

    with _tables.blame(path), tarfile.open(path) as archive:
        for member in archive:
            whole = member.isfile() and member.size <= LARGEST
            content: Any = archive.extractfile(member) if whole else None
            if content is not None:
                part, group, number = member.name.split("/")[-3:]
                yield part, group, number, content.read().decode("latin-1")


def _columns(message: str) -> dict[str, Any]:
    r"""Return what is kept of a message; of its header, which names the group, one field.

    >>> _columns("Distribution: USA\n\nHello\n> you")  # doctest: +NORMALIZE_WHITESPACE
    {'text': 'Hello\n> you', 'words': 3, 'lines': 2, 'quoted': 0.5, 'capitals': 0.125,
     'distribution': 'usa'}
    """
    header, _, text = message.partition("\n\n")
    lines, letters = text.splitlines(), [letter for letter in text if letter.isalpha()]
    told = (line.partition(": ") for line in header.splitlines())
    return {
        "text": text,
        "words": len(text.split()),
        "lines": len(lines),
        "quoted": sum(line.startswith(">") for line in lines) / max(1, len(lines)),
        "capitals": sum(map(str.isupper, letters)) / max(1, len(letters)),
        "distribution": next((to.lower() for name, _, to in told if name == "Distribution"), ""),
    }


prepare = partial(_store.prepare, CARD, build)
