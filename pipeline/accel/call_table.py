"""What became of the calls of a script: a table in the terminal or a notebook, a page, JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from html import escape
from pathlib import Path

from pipeline.accel.sites import PLAIN, Site, sites
from pipeline.notebook import HtmlTable, Lines, Shown

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
</head>
<body style="margin: auto; padding: 1rem; max-width: 80rem; font-family: system-ui, sans-serif">
{shown}
</body>
</html>
"""
_NUMBERS = ("n", "seconds", "MB to device", "MB to host")


class Calls(Shown, list[Site]):
    """The calls of each line, in the order of their first time; shown as a table, slowest first."""

    def _parts(self) -> tuple[str, HtmlTable, Lines]:
        differ = [f"{site.where} {site.what}: {site.differs}" for site in self if site.differs]
        caption = "Calls that differ from plain scikit-learn:" if differ else ""
        return self._summary(), self._table(), Lines(differ, caption)

    def _summary(self) -> str:
        ours = [site for site in self if site.ran != PLAIN]
        n, of_all = (sum(site.n for site in some) for some in (ours, self))
        seconds, total = (sum(site.seconds for site in some) for some in (ours, self))
        said = f"The engine ran {n:,} of {of_all:,} calls: {seconds:.2f} s of {total:.2f} s"
        if any(site.plain_seconds for site in self):
            plain = sum(site.plain_seconds for site in ours)
            differ = sum(site.n_differ for site in self)
            said += f"; plain scikit-learn needed {plain:.2f} s for these; {differ:,} differ"
        return said

    def _table(self) -> HtmlTable:
        copied = any(site.to_device_bytes or site.to_host_bytes for site in self)
        columns = ["line", "call", "n", "ran on", "seconds"]
        columns += ["MB to device", "MB to host"] if copied else []
        rows = []
        for site in sorted(self, key=lambda site: -site.seconds):
            file, _, line = site.where.rpartition(":")
            row = [f"{Path(file).name}:{line}", site.what, f"{site.n:,}", site.ran]
            row += [f"{site.seconds:.3f}"]
            row += [f"{b / 1e6:.1f}" for b in (site.to_device_bytes, site.to_host_bytes) if copied]
            rows.append([*row, site.why])
        return HtmlTable([*columns, "why"], rows, numbers=_NUMBERS)


def calls() -> Calls:
    """Return what became of the calls since `install`: one `Site` per line, method and way.

    Printed, and in a notebook, it is a table.
    """
    return Calls(sites())


def render(suffix: str, target: str) -> str:
    """Return the report of a script as ".html" or ".json".

    >>> "<title>script.py, accelerated</title>" in render(".html", "script.py")
    True
    """
    if suffix == ".json":
        record = {"script": target, "calls": [asdict(site) for site in calls()]}
        return f"{json.dumps(record, indent=1)}\n"
    shown = calls()._repr_html_()
    return _PAGE.format(title=f"{escape(Path(target).name)}, accelerated", shown=shown)
