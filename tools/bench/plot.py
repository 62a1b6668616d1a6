"""Draw the records of programs and searches: ``.venv/bin/python -m tools.bench.plot``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.benchmark.statistics import Ratio
from tools.bench import programs_report, record, search_report

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROGRAMS = DOCS / "results" / "programs-cpu" / "results.json"
PROGRAMS_PLOT = DOCS / "programs.svg"
SEARCH = DOCS / "results" / "search-cpu" / "results.json"
SEARCH_PLOT = DOCS / "search.svg"
BLUE, GREY = "#1f5fa8", "#555555"
MARKS = [("#9bbfe0", "o"), ("#4a8ac4", "s"), ("#123f73", "D")]
"""Colour and shape of the sizes, the smallest first."""
LINES = {
    search_report.PRUNED: (BLUE, "-"),
    search_report.BY_HAND: ("#c46a1b", "--"),
    search_report.HALVING: (GREY, ":"),
}
"""Colour and style of each search."""
# Without dates and random names, the same record gives the same file.
REPEATABLE = {"svg.hashsalt": "synthetic", "svg.fonttype": "none", "font.size": 11}


def draw_programs(found: record.Results, path: Path) -> None:
    """Write the ratios of the claim `programs` as SVG, a program in a row.

    Parameters
    ----------
    found : Results
    path : Path
        The SVG file.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    titles = list(dict.fromkeys(case.title for case in programs_report.programs(found)))
    with mpl.rc_context(REPEATABLE):
        figure = Figure(figsize=(10, 1.5 + 0.32 * len(titles)), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (name, find) in zip(panels, programs_report.RATIOS.items(), strict=True):
            axes.axvline(1, color=GREY, linewidth=1)
            for number, rows in enumerate(programs_report.sizes(found)):
                _marks(axes, found, rows, number, titles, find)
            axes.set(xscale="log", xlabel=f"{name}: ours over plain scikit-learn's")
            axes.xaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}")
            axes.xaxis.set(minor_locator=NullLocator())
            axes.grid(axis="y", color="#eeeeee")
            axes.spines[["top", "right"]].set_visible(False)
        panels[0].set(yticks=range(len(titles)), yticklabels=titles, ylim=(len(titles) - 0.4, -0.6))
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _marks(
    axes: Any, found: record.Results, rows: int, number: int, titles: list[str],
    find: Callable[[record.Results, str], Ratio | None],
) -> None:  # fmt: skip
    ratios = programs_report.ratios(found, rows, find)
    heights = [titles.index(title) + 0.25 * (number - 1) for title in ratios]
    values = np.array([ratio.value for ratio in ratios.values()])
    ends = np.array([ratio.interval or (ratio.value, ratio.value) for ratio in ratios.values()])
    (colour, shape), label = MARKS[number % len(MARKS)], f"{rows:,} rows"
    reach = np.abs(ends.reshape(-1, 2) - values[:, None]).T
    axes.errorbar(values, heights, xerr=reach, fmt=shape, color=colour, markersize=4, label=label)


def draw_searches(found: record.Results, path: Path) -> None:
    """Write the curves of the claim `search` as SVG: medians of the seeds, and their ranges.

    Parameters
    ----------
    found : Results
    path : Path
        The SVG file.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(REPEATABLE):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.subplots()
        for line in search_report.lines(found):
            colour, style = LINES[line.variant]
            label = line.title.replace("`", "")
            axes.plot(
                line.seconds, line.middle, drawstyle="steps-post",
                label=label, color=colour, linestyle=style,
            )  # fmt: skip
            ends = line.seconds, line.low, line.high
            axes.fill_between(*ends, step="post", color=colour, alpha=0.15, lw=0)
        axes.set(xlabel="seconds of the search", ylabel="AUC on held-out rows")
        axes.set(xlim=(0, None), title="The best candidate so far: median and range of the seeds")
        axes.legend(loc="lower right", frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    if PROGRAMS.exists():
        draw_programs(record.load(PROGRAMS), PROGRAMS_PLOT)
    if SEARCH.exists():
        draw_searches(record.load(SEARCH), SEARCH_PLOT)
