"""What a notebook shows of an object: sentences and tables as HTML, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATE = """<style>
.shown { font: .875em/1.5 system-ui, sans-serif; max-width: 70rem; overflow-x: auto; }
.shown p, .shown ul { margin: .5em 0; }
.shown table { border-collapse: collapse; font: inherit; margin: .5em 0; }
.shown caption { text-align: left; font-weight: 600; }
.shown th, .shown td {
  border-top: 1px solid #8884; padding: .25em .8em; text-align: left; vertical-align: top;
}
.shown .number { text-align: right; font-variant-numeric: tabular-nums; }
.shown .caution { border-left: .25em solid #c77700; padding-left: 1.5em; }
</style>
<div class="shown">
<p><strong>{{ title }}</strong></p>
{% for part in parts %}
{% if part.columns is defined %}
<table>
{% if part.caption %}<caption>{{ part.caption }}</caption>{% endif %}
<thead><tr>{% for column in part.columns %}
<th scope="col"{% if column in part.numbers %} class="number"{% endif %}>{{ column }}</th>
{% endfor %}</tr></thead>
<tbody>
{% for row in part.rows %}
<tr>{% for cell in row %}
<td{% if part.columns[loop.index0] in part.numbers %} class="number"{% endif %}>{{ cell }}</td>
{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
{% elif part.href is defined %}
<p>{{ part.before }} <a href="{{ part.href }}" target="_blank">{{ part.text }}</a></p>
{% elif part.lines %}
{% if part.caption %}<p>{{ part.caption }}</p>{% endif %}
<ul{% if part.kind %} class="{{ part.kind }}"{% endif %}>
{% for line in part.lines %}
<li>{% if part.kind == "code" %}<code>{{ line }}</code>{% else %}{{ line }}{% endif %}</li>
{% endfor %}
</ul>
{% endif %}
{% endfor %}
</div>
"""


class Lines(NamedTuple):
    """Sentences below each other, if there are any; `kind` is "", "caution" or "code"."""

    lines: Sequence[str]
    caption: str = ""
    kind: str = ""


class HtmlTable(NamedTuple):
    """A table; the columns of `numbers` are aligned to the right."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    caption: str = ""
    numbers: Sequence[str] = ()


class Link(NamedTuple):
    """A link, after the word that says to what."""

    before: str
    text: str
    href: str


def render_parts(title: str, *parts: Lines | HtmlTable | Link) -> str:
    """Return what ``_repr_html_`` returns.

    >>> "<td>&lt;b&gt;</td>" in render_parts("Steps", HtmlTable(["step"], [["<b>"]]))
    True
    """
    return _template().render(title=title, parts=parts)


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_TEMPLATE)
