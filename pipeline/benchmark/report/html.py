"""The report as one HTML page that loads nothing; its one script, which sorts, is our own."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from pipeline.benchmark.report.markdown import page_markdown
from pipeline.benchmark.report.panels import Page
from pipeline.errors import clean
from pipeline.system.atomic import write_text

TEMPLATES = Path(__file__).parent / "templates"


def write_page(page: Page, folder: Path) -> None:
    """Write ``index.html`` and ``report.md``; the same page gives the same bytes."""
    write_text(folder / "index.html", page_html(page))
    write_text(folder / "report.md", page_markdown(page))


def page_html(page: Page) -> str:
    """Return a page; foreign text is escaped and cleaned."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(("html", "j2"), default=True, default_for_string=True),
        undefined=StrictUndefined,
        # Foreign text is cleaned; markup is a subclass of str and passes.
        finalize=lambda value: clean(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = (TEMPLATES / "sort.js").read_text("utf-8")
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    template = environment.get_template("page.html.j2")
    return template.render(page=page, script=Markup(script), allowed=allowed)  # noqa: S704
