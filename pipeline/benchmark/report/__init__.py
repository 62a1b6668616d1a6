"""The report of a comparison, derived from its record alone.

`render` writes ``index.html`` and ``report.md``;
:func:`pipeline.benchmark.report.terminal.table` is the short form for a terminal.
"""

from __future__ import annotations

from pathlib import Path

from pipeline.benchmark.report import html, markdown
from pipeline.benchmark.results import Results
from pipeline.system.atomic import write_text

__all__ = ["render"]


def render(results: Results, folder: Path) -> None:
    """Write ``index.html`` and ``report.md`` into a folder.

    A reader never sees half a file: each is written aside and then renamed. The
    same results give the same bytes.

    Parameters
    ----------
    results : Results
        The only source of both files.
    folder : Path
        Made if it does not exist; where ``results.json`` lies.

    Raises
    ------
    OutputError
        The folder is not writable, the disk is full, or a file is in the way.
    """
    files = {"index.html": html.page(results), "report.md": markdown.page(results)}
    for name, text in files.items():
        write_text(folder / name, text)
