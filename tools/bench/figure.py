"""The figure of the benchmarks: the speed of each program beside plain scikit-learn, as SVG."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from tools.bench.programs import OURS, PLAIN
from tools.bench.record import Results

INK, RULE, COLOURS = "#6e7781", "#8c959f55", ("#1f9e77", "#d9730d", "#3d7fd9")
"""Of text, of lines and of sizes; they can be read on white and on black."""
APART = 0.26
"""Between the sizes of a program, where programs are 1 apart."""
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "speeds",
    "font.size": 10,
    **dict.fromkeys(("text.color", "xtick.color", "ytick.color", "axes.labelcolor"), INK),
}
SPEEDS = {0.5: "2× slower", 1.0: "as fast", 2.0: "2× faster", 4.0: "4×", 8.0: "8×", 16.0: "16×"}


def speeds(results: Results) -> str:
    """Return a dot for each program and size, at the median speed, on a line for its interval."""
    import matplotlib
    from matplotlib.figure import Figure

    sizes = sorted({int(case.facts["rows"]) for case in results.cases})
    titles = list(dict.fromkeys(case.title for case in results.cases))
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = Figure(figsize=(7.2, 1 + 0.3 * len(titles)), layout="constrained")
        axes = figure.add_subplot()
        for number, (rows, colour) in enumerate(zip(sizes, COLOURS, strict=False)):
            cases = enumerate(f"{title} {rows}" for title in titles)
            ratios = [(y, results.ratio(case, "fit+predict", OURS, PLAIN)) for y, case in cases]
            known = [(y, found) for y, found in ratios if found is not None]
            shift = APART * (number - (len(sizes) - 1) / 2)
            # A ratio is of times, and its inverse the speed.
            middles = np.array([1 / found.value for _, found in known])
            ends = [1 / np.array(found.interval or [found.value] * 2) for _, found in known]
            to_ends = np.abs(np.reshape(ends, (-1, 2))[:, ::-1].T - middles)
            places = [y + shift for y, _ in known]
            axes.errorbar(
                *(middles, places), xerr=to_ends, fmt="o", markersize=4, linewidth=1.4,
                color=colour, label=f"{rows:,} rows",
            )  # fmt: skip
        _scale(axes, titles)
        sink = io.StringIO()
        none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(sink, format="svg", transparent=True, metadata=none)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines()) + "\n"


def _scale(axes: Any, titles: list[str]) -> None:
    """Name the programs and the speeds."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    shown = {speed: text for speed, text in SPEEDS.items() if low <= speed <= high}
    axes.set_xticks([*shown], [*shown.values()])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(titles)), titles)
    axes.set_ylim(len(titles) - 0.4, -0.6)
    axes.axvline(1, color=INK, linewidth=1, zorder=0)
    axes.grid(visible=True, axis="x", color=RULE)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)  # noqa: FBT003
    axes.figure.legend(loc="outside upper right", ncols=3, frameon=False)
