"""Write a generated table and say what it took: ``python -m tools.synthetic.memory``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from datasets.synthetic import Recipe, prepare
from pipeline.system import environment
from pipeline.system.atomic import publishing
from tools.bench import rss
from tools.synthetic import schema


def measure(recipe: Recipe, partitions: int | None) -> schema.Written:
    """Write a table into a temporary folder of the working directory, and remove it.

    Parameters
    ----------
    recipe : Recipe
        Of the table.
    partitions : int, optional
        Files; one per million rows if not given.
    """
    load, start = environment.load_average(), time.perf_counter()
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".written.") as home:
        folder = prepare(Path(home), recipe, partitions)
        seconds = time.perf_counter() - start
        files = [path.stat().st_size for path in folder.glob("part-*.parquet")]
    return schema.Written(
        schema=schema.MEMORY,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=environment.machine(environment.threads(), load),
        source=environment.source(["python", "-m", "tools.synthetic.memory", *sys.argv[1:]]),
        rows=recipe.rows,
        columns=recipe.columns,
        partitions=len(files),
        bytes=sum(files),
        seconds=seconds,
        peak_rss_bytes=rss.peak(),
    )


def main() -> None:
    """Measure, print and publish the record."""
    parser = argparse.ArgumentParser(prog="python -m tools.synthetic.memory", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/synthetic-memory"))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--partitions", type=int)
    given = parser.parse_args()
    recipe = Recipe(rows=given.rows, columns=given.columns)
    with publishing(given.out) as folder:
        found = measure(recipe, given.partitions)
        (folder / "results.json").write_bytes(schema.dumps(found))
    speed, peak = found.rows / found.seconds, found.peak_rss_bytes / 2**20
    print(f"{found.rows:,} rows, {speed:,.0f} a second, at most {peak:,.0f} MiB resident")


if __name__ == "__main__":
    main()
