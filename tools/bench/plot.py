"""Draw the record of scores: ``python -m tools.bench.plot``."""

from __future__ import annotations

from pathlib import Path

from tools.bench import record

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "results" / "synthetic-auc" / "results.json"
PLOT = ROOT / "docs" / "synthetic-auc.svg"
BLUE, GREY = "#1f5fa8", "#555555"
# Without dates and random names, the same record gives the same file.
REPEATABLE = {"svg.hashsalt": "synthetic", "svg.fonttype": "none", "font.size": 11}


def draw(found: record.Results, path: Path) -> None:
    """Write the plot of a record as SVG.

    Parameters
    ----------
    found : Results
        Of the claim `synthetic-auc`.
    path : Path
        The SVG file.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(REPEATABLE):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        rows = [case.facts["rows"] for case in found.cases]
        scores, truth = [cell.values["auc"] for cell in found.cells], found.cases[0].facts["truth"]
        axes.axhline(truth, color=GREY, linestyle="--")
        note = f"best attainable on the test rows: {truth:.4f}"
        axes.annotate(note, (rows[0], truth), (0, 5), textcoords="offset points", color=GREY)
        axes.plot(rows, scores, color=BLUE, marker="o")
        for x, y in zip(rows, scores, strict=True):
            axes.annotate(f"{y:.4f}", (x, y), (0, -16), textcoords="offset points", color=BLUE)
        axes.set(xscale="log", xlabel="training rows", ylabel="AUC on test rows")
        axes.margins(x=0.08, y=0.15)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    draw(record.load(RECORD), PLOT)
