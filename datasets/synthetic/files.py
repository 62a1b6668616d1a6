"""A generated table on disk: Parquet files of rows and a manifest, published at once."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from datasets import _store
from datasets.errors import DataError
from datasets.synthetic.recipe import Recipe
from datasets.synthetic.rows import table

MANIFEST = "_manifest.json"
"""Readers of folders of Parquet pass over names with an underscore."""

GROUP_ROWS, GROUP_CELLS = 131_072, 4_300_000
"""Most rows and most values of a row group: it is made in memory as a whole."""

THREADS = min(8, len(os.sched_getaffinity(0)))
"""So many row groups are made at once."""

_OPTIONS = {"compression": "zstd", "compression_level": 1}

log = logging.getLogger("datasets")


def prepare(home: Path, recipe: Recipe, partitions: int | None = None) -> Path:
    """Publish a generated table unless it is there: see `datasets.synthetic.prepare`."""
    cuts = recipe.cuts(partitions)
    count = len(cuts) - 1
    expected = {"dataset": "synthetic", "recipe": recipe.about(), "partitions": count}
    shape = f"{recipe.rows}x{recipe.columns}-{recipe.cardinality}"
    name = f"{recipe.kind}-{shape}-seed{recipe.seed}-parts{count}"
    folder = home / "synthetic" / (name + ("-fold" if recipe.fold else ""))

    def fill(draft: Path) -> None:
        for number in range(count):
            path = draft / f"part-{number:05d}.parquet"
            _store.write_parquet(path, _groups(recipe, *cuts[number : number + 2]), **_OPTIONS)
            log.info("synthetic: %s of %s rows", f"{cuts[number + 1]:,}", f"{recipe.rows:,}")
        files = {path.name: _store.sha256(path) for path in sorted(draft.iterdir())}
        columns = _store.about(recipe.schema())
        found = {"rows": recipe.rows, "target": "target", "columns": columns, "files": files}
        _store.write_manifest(draft / MANIFEST, expected | found)

    _store.publish(folder, fill)
    _verify(folder, expected)
    log.info("synthetic: complete and intact")
    return folder


def _groups(recipe: Recipe, start: int, stop: int) -> Iterator[pa.Table]:
    """Yield a range of rows, a row group at a time."""
    size = group_rows(recipe)
    firsts = range(start, stop, size)
    with ThreadPoolExecutor(THREADS) as pool:
        for turn in range(0, len(firsts), THREADS):
            mine = firsts[turn : turn + THREADS]
            yield from pool.map(lambda first: table(recipe, first, min(first + size, stop)), mine)


def group_rows(recipe: Recipe) -> int:
    """Return the rows of a row group: fewer where there are many columns.

    Examples
    --------
    >>> group_rows(Recipe(columns=30)), group_rows(Recipe(columns=10_000))
    (131072, 429)
    """
    return min(GROUP_ROWS, GROUP_CELLS // (recipe.columns + 2))


def _verify(folder: Path, expected: dict[str, Any]) -> None:
    with _store.damage(folder):
        for name, digest in _store.read_manifest(folder / MANIFEST, expected)["files"].items():
            if _store.sha256(folder / name) != digest:
                raise DataError(f"{folder / name}: changed since it was made")
