"""Where the time of a run goes, function by function: a page beside its results."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import ConfigError
from pipeline.optional import available, load

MISSING = "pyinstrument is not installed (`.venv/bin/python -m pip install pyinstrument`)"
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Where the time goes</title>
<style>:root {{ color-scheme: light dark; }} pre {{ font: 0.8rem/1.5 monospace; }}</style></head>
<body><h1>Where the time goes</h1>
<pre>{text}</pre></body></html>
"""
NO_BOKEH = (
    "bokeh is not installed (`.venv/bin/python -m pip install bokeh`), and Dask's report needs it"
)


@contextmanager
def sampled(path: Path) -> Iterator[None]:
    """Sample this thread while the block runs, and write an HTML page.

    Raises
    ------
    ConfigError
        pyinstrument is not installed.
    """
    profiler = load("pyinstrument.Profiler")()
    profiler.start()
    try:
        yield
    finally:
        profiler.stop()
    # Its own page would ask for fonts on the network.
    text = html.escape(profiler.output_text(unicode=True, color=False))
    path.write_text(_PAGE.format(text=text), encoding="utf-8")


def why_not_sampled(*, cluster: bool = False) -> str:
    """Return why there can be no profile here; empty where there can."""
    if cluster:
        return "" if available("bokeh") else NO_BOKEH
    return "" if available("pyinstrument") else MISSING


@contextmanager
def maybe(folder: Path, *, wanted: bool, cluster: bool) -> Iterator[None]:
    """Write ``profile.html`` into a folder, if it is wanted.

    Raises
    ------
    ConfigError
        It is wanted, and what makes it is not installed.
    """
    if not wanted:
        yield
        return
    if why := why_not_sampled(cluster=cluster):
        raise ConfigError(f"--profile: {why}")
    page = folder / "profile.html"
    # Dask's own report is of what its workers do.
    with load("distributed.performance_report")(str(page)) if cluster else sampled(page):
        yield
