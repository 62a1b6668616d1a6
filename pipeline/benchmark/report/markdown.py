"""The report as Markdown: the same panels and tables, foreign text escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.benchmark.report import tables
from pipeline.benchmark.report.format import clean
from pipeline.benchmark.report.tables import Card, ReportTable
from pipeline.benchmark.results import Results
from pipeline.benchmark.verdict import verdict

_RULES = {"l": ":---", "r": "---:"}
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SPECIAL = re.compile(r"([\\`*\[\]|~#!$]|(?<![^\W_])_|_(?![^\W_]))")


def render_markdown(results: Results) -> str:
    """Return the report; the same results give the same bytes."""
    parts = [f"# {text(results.task.title)}: the comparison"]
    bodies = (
        *(_verdict, _speed, _stages, _scaling, _placement, _quality, _memory, _machine),
        *(_history, _reproduce, _code),
    )
    for title, body in zip(PANELS.values(), bodies, strict=True):
        parts += [f"## {title}", *body(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


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


def _verdict(results: Results) -> list[str]:
    found = verdict(results)
    return [
        f"**{text(found.badge)}**",
        _items(line.text for line in found.headlines),
        _items((found.parity, *tables.break_evens(results), *found.places, found.gpu)),
        "Read with care:" if found.caveats else "",
        _items(found.caveats),
    ]


def _speed(results: Results) -> list[str]:
    return [markdown_table(tables.speed_table(results))]


def _stages(results: Results) -> list[str]:
    return [markdown_table(tables.stage_table(results))]


def _scaling(results: Results) -> list[str]:
    return [
        text(tables.size_note(results)),
        markdown_table(tables.size_table(results)),
        markdown_table(tables.model_table(results)),
    ]


def _placement(results: Results) -> list[str]:
    movements = markdown_table(tables.movement_table(results)) or tables.NO_MOVEMENT
    placed = [markdown_table(item) for item in tables.placement_tables(results)] or [
        tables.NO_PLACEMENT
    ]
    return [text(verdict(results).gpu), *placed, movements]


def _quality(results: Results) -> list[str]:
    quality = markdown_table(tables.quality_table(results)) or tables.NO_QUALITY
    return [quality, markdown_table(tables.agreement_table(results))]


def _memory(results: Results) -> list[str]:
    return [
        markdown_table(tables.memory_table(results)),
        markdown_table(tables.resource_table(results)),
        markdown_table(tables.cost_table(results)) or text(tables.NOT_PRICED),
        text(tables.ALONE),
    ]


def _history(results: Results) -> list[str]:
    return [markdown_table(tables.history_table(results)) or tables.NO_HISTORY]


def _machine(results: Results) -> list[str]:
    return [
        "### The same for all",
        _card(tables.fairness(results)),
        markdown_table(tables.variants_table(results)),
        "### How the runs were made",
        _card(tables.protocol(results)),
        "### The machine",
        _card(tables.machine_rows(results)),
    ]


def _reproduce(results: Results) -> list[str]:
    return [
        block(results.source.command),
        _card(tables.reproduction(results)),
        _items(_profiles(results)),
        markdown_table(tables.packages_table(results)),
    ]


def _profiles(results: Results) -> list[str]:
    return [
        f"{name}: {file}" if file else f"{name}: no profile, {why}"
        for name, file, why in tables.profiles(results)
    ]


def _code(results: Results) -> list[str]:
    parts = ((f"### {text(p.name)}: {text(p.title)}", block(p.code)) for p in results.pipelines)
    return [part for pair in parts for part in pair]


PANELS = {
    "verdict": "Verdict",
    "speed": "Speed",
    "stages": "Stages",
    "scaling": "How time grows with the rows",
    "placement": "Where each step ran",
    "quality": "Quality side by side",
    "memory": "Memory, processors, energy and cost",
    "machine": "Machine and fairness",
    "history": "Earlier records",
    "reproduce": "How to reproduce",
    "code": "The pipelines' code",
}
"""Anchor -> heading."""
