"""XGBoost on partitions that do not fit in memory together: one at a time, from the disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.backends import incremental
from pipeline.backends.incremental import Batch
from pipeline.backends.xgboost import checkpoints, handover, training
from pipeline.optional import load
from pipeline.system import memory
from pipeline.table import frames
from pipeline.typing import Array, Table

if TYPE_CHECKING:
    from xgboost import Booster, DataIter, XGBModel


def train_from_disk(
    estimator: XGBModel, X: Table, y: np.ndarray, sample_weight: Array = None
) -> Booster:
    """Return the booster of an estimator, trained on partitions that are read in turn.

    Every partition is computed once and kept in a temporary folder; XGBoost keeps its bins of them
    there as well (`ExtMemQuantileDMatrix`).

    On a GPU a batch is uploaded when it is asked for, and the bins are in the memory of the host.
    """
    memory.give_back()  # what preprocessing has left
    with TemporaryDirectory(prefix="external-") as folder, _plain_path(folder) as cache:
        batches = incremental.read_batches(X, y, sample_weight, Path(folder))
        digest, given = partial(_hash_batches, batches), {"sample_weight": sample_weight}
        with checkpoints.continue_training(estimator, given, digest) as more:
            memory.give_back()
            matrix = load("xgboost.ExtMemQuantileDMatrix")(
                _iterate(batches, estimator, f"{cache}/bins"),
                missing=estimator.missing,
                enable_categorical=estimator.enable_categorical,
                max_bin=estimator.max_bin,
                nthread=estimator.n_jobs,
            )
            memory.give_back()  # what finding the bins has left
            try:
                params, options = training.find_params(estimator, y), training.options(estimator)
                booster: Booster = load("xgboost.train")(params, matrix, **options, **more)
            except BaseException as error:
                # What is behind the error would hold the matrix, and with it files of the folder.
                clear_frames(error.__traceback__)
                raise
            finally:
                del matrix
    return booster


@contextmanager
def _plain_path(folder: str) -> Iterator[str]:
    """Yield a path of a folder in ASCII letters: XGBoost opens no other one for its bins."""
    if folder.isascii() or sys.platform != "linux":
        yield folder
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{opened}"
    finally:
        os.close(opened)


def _hash_batches(batches: Sequence[Batch]) -> str:
    hashes = [checkpoints.hash_rows(each.read(), each.y, each.sample_weight) for each in batches]
    return checkpoints.hash_rows(hashes)


def _iterate(batches: Sequence[Batch], estimator: XGBModel, cache: str) -> DataIter:
    """Return what XGBoost asks for one batch after the other."""

    def move(table: Table) -> Any:
        return None if table is None else frames.to_device(table, estimator.device)

    class Batches(load("xgboost.DataIter")):  # type: ignore[misc]
        left = iter(batches)

        def reset(self) -> None:
            self.left = iter(batches)

        def next(self, input_data: Callable[..., None]) -> bool:
            batch = next(self.left, None)
            if batch is None:
                return False
            input_data(
                data=handover.prepare(move(batch.read())),
                label=move(batch.y),
                weight=move(batch.sample_weight),
                feature_types=estimator.feature_types,
                feature_weights=estimator.feature_weights,
            )
            return True

    return Batches(cache_prefix=cache, on_host=estimator.device == "cuda")
