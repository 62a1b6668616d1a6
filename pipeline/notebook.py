"""What a notebook shows of an object: sentences and tables as HTML, all text escaped.

Colours and type are those of the notebook.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Template


class Lines(NamedTuple):
    """A list of sentences, which may be empty."""

    lines: Sequence[str]
    caption: str = ""


class HtmlTable(NamedTuple):
    """A table; the columns named in `numbers` are aligned to the right."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    caption: str = ""
    numbers: Sequence[str] = ()


class Shown:
    """An object that is shown as text at a prompt and as HTML in a notebook."""

    def _parts(self) -> tuple[str, HtmlTable, Lines]:
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the title, the table and the lines below each other."""
        title, table, more = self._parts()
        return "\n".join([title, *_align(table), *more.lines])

    def _repr_html_(self) -> str:
        return render_parts(*self._parts())


def _align(table: HtmlTable) -> list[str]:
    """Return a table as lines of text.

    >>> _align(HtmlTable(["column", "mean"], [["age", "0.5"]], numbers=["mean"]))
    ['column  mean', 'age      0.5']
    """
    rows = [[" ".join(str(cell).split()) for cell in row] for row in [table.columns, *table.rows]]
    sides = [">" if column in table.numbers else "<" for column in table.columns]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map("{:{}{}}".format, row, sides, widths)).rstrip() for row in rows]


def render_parts(title: str, *parts: Lines | HtmlTable) -> str:
    """Return a title and its parts as HTML, for ``_repr_html_``.

    >>> "<td>&lt;b&gt;</td>" in render_parts("Steps", HtmlTable(["step"], [["<b>"]]))
    True
    """
    return _template().render(title=title, parts=parts)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pipeline", package_path=""), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("notebook.html.j2")
