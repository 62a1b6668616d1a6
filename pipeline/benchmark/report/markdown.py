"""The report as Markdown: the same panels and tables, foreign text escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from pipeline.benchmark.report.html_table import ReportTable
from pipeline.benchmark.report.panels import Page
from pipeline.errors import clean

_RULES = {"l": ":---", "r": "---:"}
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SPECIAL = re.compile(r"([\\`*\[\]|~#!$]|(?<![^\W_])_|_(?![^\W_]))")


def page_markdown(page: Page) -> str:
    """Return a page without its figures."""
    title = f"{page.title} – {page.kind}" if page.kind else page.title
    parts = [f"# {text(title)}", text(page.lead)]
    for panel in page.panels.values():
        parts.append(f"## {text(panel.title)}")
        parts += [WRITERS[each.kind](each.value) for each in panel.pieces if each.kind in WRITERS]
    return "\n\n".join(filter(None, parts)) + "\n"


def text(value: str) -> str:
    r"""Escape a text so that Markdown shows it as it is, on one line.

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
    """Write a table with its caption above and its note below."""
    texts = [value.head, *([cell.text for cell in row] for row in value.rows)]
    lines = ["| " + " | ".join(map(text, each)) + " |" for each in texts]
    lines.insert(1, "| " + " | ".join(_RULES[letter] for letter in value.align) + " |")
    return "\n\n".join(filter(None, (text(value.caption), "\n".join(lines), text(value.note))))


def _items(values: Iterable[str]) -> str:
    return "\n".join(f"- {text(value)}" for value in values)


def _pointed(points: tuple[str, Iterable[str]]) -> str:
    title, every = points
    return f"{text(title)}:\n\n{_items(every)}"


def _use(use: Any) -> str:
    codes = map(block, filter(None, (use.commands, use.code)))
    return "\n\n".join([f"{text(use.title)}: {text(use.why)}", *codes])


WRITERS: dict[str, Callable[[Any], str]] = {
    "items": _items,
    "cautions": _pointed,
    "caveats": _pointed,
    "table": markdown_table,
    "text": text,
    "heading": lambda title: f"### {text(title)}",
    "use": _use,
    "card": lambda card: "\n".join(f"- **{text(name)}:** {text(value)}" for name, value in card),
    "code": block,
}
"""Kind of a piece -> what writes it; what is not here is for HTML alone."""
