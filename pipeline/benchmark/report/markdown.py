"""The report as Markdown: the same panels and tables, foreign text escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from pipeline.benchmark.report.cards import Card
from pipeline.benchmark.report.panels import PANELS
from pipeline.benchmark.report.table import ReportTable
from pipeline.benchmark.results import Results
from pipeline.errors import clean

_RULES = {"l": ":---", "r": "---:"}
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SPECIAL = re.compile(r"([\\`*\[\]|~#!$]|(?<![^\W_])_|_(?![^\W_]))")


def render_markdown(results: Results) -> str:
    """Return the report; the same results give the same bytes."""
    parts = [f"# {text(results.task.title)}: the comparison"]
    for panel in PANELS.values():
        pieces = panel.pieces(results)
        parts += [f"## {panel.title}"] if pieces else []
        parts += [WRITERS[each.kind](each.value) for each in pieces if each.kind in WRITERS]
    return "\n\n".join(filter(None, parts)) + "\n"


def text(value: str) -> str:
    r"""Escape a text so that Markdown shows it as it is, on one line.

    Examples
    --------
    >>> print(text("a|b\n<i> *c* roc_auc"))
    a\|b &lt;i&gt; \*c\* roc_auc
    """
    line = " ".join(clean(value).split())
    return _SPECIAL.sub(r"\\\1", line.translate(_ENTITIES))


def block(value: str) -> str:
    """Fence a text with more backticks than it holds in a row."""
    longest = max(map(len, re.findall("`+", value)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{clean(value)}\n{fence}"


def markdown_table(value: ReportTable) -> str:
    """Write a table with its caption above and its note below; nothing if it has no row."""
    if not value.rows:
        return ""
    lines = [
        _line(value.head),
        "| " + " | ".join(_RULES[letter] for letter in value.align) + " |",
        *(_line(cell.text for cell in row) for row in value.rows),
    ]
    return "\n\n".join(filter(None, (text(value.caption), "\n".join(lines), text(value.note))))


def _line(values: Iterable[str]) -> str:
    return "| " + " | ".join(map(text, values)) + " |"


def _items(values: Iterable[str]) -> str:
    return "\n".join(f"- {text(value)}" for value in values)


def _card(card: Card) -> str:
    return "\n".join(f"- **{text(name)}:** {text(value)}" for name, value in card)


def _caveats(caveats: Iterable[str]) -> str:
    return f"Read with care:\n\n{_items(caveats)}" if caveats else ""


def _cautions(cautions: Iterable[str]) -> str:
    return f"Before a score is believed:\n\n{_items(cautions)}" if cautions else ""


def _profiles(profiles: Iterable[tuple[str, str, str]]) -> str:
    return _items(f"{name}: {file or 'no profile, ' + why}" for name, file, why in profiles)


WRITERS: dict[str, Callable[[Any], str]] = {
    "scores": _items,
    "cautions": _cautions,
    "badge": lambda conclusion: f"**{text(conclusion.badge)}**",
    "items": _items,
    "caveats": _caveats,
    "table": markdown_table,
    "text": text,
    "heading": lambda title: f"### {text(title)}",
    "card": _card,
    "code": block,
    "profiles": _profiles,
}
"""Kind of a part -> what writes it; what is not here is for HTML alone."""
