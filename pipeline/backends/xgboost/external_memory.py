"""XGBoost on partitions that do not fit in memory together: one at a time, from the disk."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import clear_frames
from typing import TYPE_CHECKING

import numpy as np

from pipeline.backends import incremental
from pipeline.backends.incremental import Batch
from pipeline.backends.xgboost import checkpoints, training
from pipeline.data import partitioned
from pipeline.optional import load
from pipeline.system import atomic, memory
from pipeline.typing import Array, Params, Table

if TYPE_CHECKING:
    from xgboost import Booster, XGBModel

OVERHEAD = 2**20
"""Bytes that XGBoost holds for a batch while it trains, however few rows it has."""


def train_from_disk(
    estimator: XGBModel, X: Table, y: np.ndarray, sample_weight: Array = None
) -> Booster:
    """Return the booster of an estimator, trained on partitions that are read in turn.

    Every partition is made once and kept in a temporary folder; XGBoost keeps its bins of them
    there as well (`ExtMemQuantileDMatrix`).

    On a GPU a batch is uploaded when it is asked for, and the bins are in the memory of the host.
    """
    memory.give_back()  # what preprocessing has left
    with TemporaryDirectory(prefix="external-") as name:
        folder = Path(name)
        batches = incremental.read_batches(X, y, sample_weight, folder, _batch_rows(X, len(y)))
        given = {"sample_weight": sample_weight}
        digest = partial(_hash_batches, batches)
        # What reads the folder is let go inside, before the folder is.
        with checkpoints.continue_training(estimator, given, digest) as more:
            memory.give_back()
            params = training.find_params(estimator, y)
            with _plain_path(folder) as cache:
                return _train(estimator, params, batches, f"{cache}/bins", **more)


@contextmanager
def _plain_path(folder: Path) -> Iterator[str]:
    """Yield a path of a folder in ASCII letters: XGBoost opens no other one for its bins."""
    if str(folder).isascii():
        yield str(folder)
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{opened}"
    finally:
        os.close(opened)


def _batch_rows(X: Table, rows: int) -> int:
    """Return how many rows a batch has best: so that what is held for and of batches is least.

    XGBoost 3.2 holds `OVERHEAD` for every batch and about one batch's bytes: the sum is least where
    a batch is the geometric mean of `OVERHEAD` and of all rows.
    """
    need = max(partitioned.total_nbytes(X), 1)
    return rows * math.isqrt(OVERHEAD * need) // need


def _hash_batches(batches: Sequence[Batch]) -> str:
    hashes = (checkpoints.hash_rows(each.read(), each.y, each.sample_weight) for each in batches)
    return atomic.sha256("".join(hashes).encode())


def _train(
    estimator: XGBModel,
    params: Params,
    batches: Sequence[Batch],
    cache: str,
    xgb_model: Booster | None = None,
) -> Booster:
    on_host = estimator.device == "cuda"
    matrix = load("xgboost.ExtMemQuantileDMatrix")(
        training.iterate(batches, estimator, cache_prefix=cache, on_host=on_host),
        missing=estimator.missing,
        enable_categorical=estimator.enable_categorical,
        max_bin=estimator.max_bin,
        nthread=estimator.n_jobs,
    )
    memory.give_back()  # what finding the bins has left
    try:
        return training.train_booster(estimator, params, matrix, xgb_model)
    except BaseException as error:
        # What is behind the error would hold the matrix, and with it files of the folder.
        clear_frames(error.__traceback__)
        raise
    finally:
        del matrix
