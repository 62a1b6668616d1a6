"""A generated table on disk: Parquet files of rows and a manifest, published at once.

Finished files outlive a run that is stopped, and the next run goes on after them; the
folder takes its name only when all of it is there.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from datasets import _store
from datasets.errors import DataError, OutputError
from datasets.synthetic import rows
from datasets.synthetic.recipe import Recipe
from datasets.synthetic.scores import best

MANIFEST = "_manifest.json"
"""Readers of folders of Parquet pass over names with an underscore."""

GROUP_ROWS, GROUP_CELLS = 131_072, 4_300_000
"""Most rows and most values of a row group: it is made in memory as a whole."""

THREADS = 8
"""At most so many files are written at once: each holds a row group in memory."""

_OPTIONS = {"compression": "zstd", "compression_level": 1, "write_page_checksum": True}
_REPORT_EVERY = 5.0
_SPARE = 1.1

log = logging.getLogger("datasets")


def prepare(home: Path, recipe: Recipe, partitions: int | None = None) -> Path:
    """Publish a generated table unless it is there: see `datasets.synthetic.prepare`."""
    cuts = recipe.cuts(partitions)
    about = {"dataset": "synthetic", "recipe": recipe.about(), "partitions": len(cuts) - 1}
    shape = f"{recipe.rows}x{recipe.columns}-{recipe.cardinality}"
    name = f"{recipe.kind}-{shape}-seed{recipe.seed}-parts{len(cuts) - 1}"
    folder = home / "synthetic" / (name + ("-fold" if recipe.fold else ""))
    with _store.writing(folder), _store.alone(folder.parent, folder.name):
        if _store.taken(folder):
            _verify(folder, about)
            log.info("synthetic: complete and intact")
        else:
            _publish(folder, recipe, cuts, about)
    return folder


def _publish(folder: Path, recipe: Recipe, cuts: list[int], about: dict[str, Any]) -> None:
    draft = folder.with_name(f".{folder.name}.draft")
    _open_draft(draft, about)
    done = [_finished(draft / _part(k), cuts[k + 1] - cuts[k]) for k in range(len(cuts) - 1)]
    left = sum(cuts[k + 1] - cuts[k] for k, is_done in enumerate(done) if not is_done)
    if any(done):
        log.info("synthetic: going on after %d of %d files", sum(done), len(done))
    _check_room(draft, recipe, left)
    _write_parts(draft, recipe, cuts, [k for k, is_done in enumerate(done) if not is_done])
    _write_manifest(draft, recipe, about)
    draft.rename(folder)
    _store.sync(folder.parent)


def _part(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _open_draft(draft: Path, about: dict[str, Any]) -> None:
    """Keep a draft of the very same table, and remove any other that has its name."""
    claim = draft / "_recipe.json"
    text = json.dumps(about)
    if draft.exists() and (not claim.exists() or claim.read_text("utf-8") != text):
        shutil.rmtree(draft)
    draft.mkdir(exist_ok=True)
    claim.write_text(text, encoding="utf-8")


def _finished(path: Path, count: int) -> bool:
    try:
        return bool(parquet.read_metadata(path).num_rows == count)
    except (OSError, pa.ArrowInvalid):
        return False


def _check_room(draft: Path, recipe: Recipe, left: int) -> None:
    if not left:
        return
    trial, sink = min(recipe.rows, group_rows(recipe)), pa.BufferOutputStream()
    parquet.write_table(rows.table(recipe, 0, trial), sink, **_OPTIONS)
    needed = int(sink.getvalue().size / trial * left * _SPARE)
    free = shutil.disk_usage(draft).free
    log.info("synthetic: %s rows to write, about %.1f MB", f"{left:,}", needed / 1e6)
    if needed > free:
        raise OutputError(
            f"{draft.parent}: needs about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free. "
            "Make room, choose another folder with --data-home, or fewer --rows"
        )


def group_rows(recipe: Recipe) -> int:
    """Return the rows of a row group: fewer where there are many columns.

    Examples
    --------
    >>> group_rows(Recipe(columns=30)), group_rows(Recipe(columns=10_000))
    (131072, 429)
    """
    return min(GROUP_ROWS, GROUP_CELLS // (recipe.columns + 2))


class _Progress:
    """Tells how far the writing is, every few seconds, until it is stopped."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.reported = total, 0, time.monotonic()
        self.stopped = False

    def add(self, count: int) -> None:
        if self.stopped:
            raise InterruptedError
        self.done += count
        if time.monotonic() - self.reported > _REPORT_EVERY:
            self.reported = time.monotonic()
            share = 100 * self.done / self.total
            log.info("synthetic: %.0f %% of %s rows", share, f"{self.total:,}")


def _write_parts(draft: Path, recipe: Recipe, cuts: list[int], wanted: list[int]) -> None:
    progress = _Progress(sum(cuts[k + 1] - cuts[k] for k in wanted))
    with ThreadPoolExecutor(min(THREADS, len(os.sched_getaffinity(0)))) as pool:
        ends = {k: (cuts[k], cuts[k + 1]) for k in wanted}
        runs = [
            pool.submit(_write_part, draft / _part(k), recipe, ends[k], progress) for k in wanted
        ]
        try:
            for run in as_completed(runs):
                run.result()
        except BaseException:
            progress.stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _write_part(path: Path, recipe: Recipe, ends: tuple[int, int], progress: _Progress) -> None:
    draft = path.with_suffix(".tmp")
    schema = rows.table(recipe, 0, 0).schema
    with draft.open("wb") as sink, parquet.ParquetWriter(sink, schema, **_OPTIONS) as writer:
        for start, stop in spans(*ends, group_rows(recipe)):
            writer.write_table(rows.table(recipe, start, stop))
            progress.add(stop - start)
    _store.sync(draft)
    draft.rename(path)


def spans(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range that have at most `size` rows each.

    Examples
    --------
    >>> list(spans(0, 5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for first in range(start, stop, size):
        yield first, min(first + size, stop)


def _write_manifest(draft: Path, recipe: Recipe, about: dict[str, Any]) -> None:
    columns = {n: {"kind": c.kind, "about": c.about} for n, c in recipe.schema().items()}
    files = {path.name: _store.sha256(path) for path in sorted(draft.glob("part-*.parquet"))}
    content = about | {
        "rows": recipe.rows,
        "target": "target",
        "best": best(recipe),
        "columns": columns,
        "files": files,
    }
    manifest = draft / MANIFEST
    manifest.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    (draft / "_recipe.json").unlink()
    for path in (manifest, draft):
        _store.sync(path)
    size = sum((draft / name).stat().st_size for name in files)
    log.info("synthetic: wrote %s rows, %.1f MB", f"{recipe.rows:,}", size / 1e6)


def _verify(folder: Path, about: dict[str, Any]) -> None:
    manifest = folder / MANIFEST
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        if any(content[key] != value for key, value in about.items()):
            raise ValueError("of another version of the generator")
        for name, digest in content["files"].items():
            if _store.sha256(folder / name) != digest:
                raise ValueError(f"{name} changed since it was made (SHA-256 differs)")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError) as error:
        raise DataError(f"{manifest}: {error}. Remove {folder}, then make it anew") from error
