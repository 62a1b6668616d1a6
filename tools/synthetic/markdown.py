"""The parts of ``docs/datasets.md`` that follow from the generator and the records."""

from __future__ import annotations

from pathlib import Path

from datasets import synthetic
from pipeline.records import Machine
from tools.synthetic import schema

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
METRICS = {
    "roc_auc": "area under the ROC curve",
    "accuracy": "accuracy",
    "r2": "R²",
    "ndcg_at_10": "NDCG of the first ten, gain 2^relevance - 1",
    "adjusted_rand": "adjusted Rand index of the most probable cluster",
}


def best() -> str:
    """Return the table of kinds with their best scores, for the seed 0."""
    lines = ["| kind | `target` | metric | best, seed 0 |", "|---|---|---|---:|"]
    for kind in synthetic.KINDS:
        recipe = synthetic.Recipe(kind)
        found, about = synthetic.best(recipe), recipe.schema()["target"].about
        lines.append(f"| `{kind}` | {about} | {METRICS[found['metric']]} | {found['value']:.4f} |")
    return "\n".join(lines)


def auc() -> str:
    """Return the record of `tools.synthetic.auc` as a table."""
    found = schema.load(RESULTS / "synthetic-auc" / "results.json")
    lines = ["| training rows | AUC | below the best | trees |", "|---:|---:|---:|---:|"]
    for point in found.points:
        below = found.truth - point.auc
        lines.append(f"| {point.rows:,} | {point.auc:.4f} | {below:.4f} | {point.trees} |")
    lines.append(f"| the true probabilities | {found.truth:.4f} | | |")
    told = f"{found.rows_test:,} test rows, the same for all; {found.columns} columns"
    return "\n".join([*lines, "", f"{told}, seed {found.seed}; {found.created[:10]}."])


def written() -> str:
    """Return what the record of `tools.synthetic.memory` says."""
    found = schema.load_written(RESULTS / "synthetic-memory" / "results.json")
    return (
        f"{found.rows:,} rows of {found.columns} columns in {found.partitions} files, "
        f"{found.bytes / 1e9:.2f} GB: {found.seconds:.0f} s, "
        f"at most {found.peak_rss_bytes / 2**20:.0f} MiB resident "
        f"({_where(found.machine)}; {found.created[:10]})."
    )


def _where(machine: Machine) -> str:
    return f"{machine.cpu}, {machine.cores} cores, load before {machine.load_before:.1f}"
