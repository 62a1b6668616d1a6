"""XGBoost on partitions that do not fit in memory together: one at a time, from the disk."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import clear_frames
from typing import Any

from pipeline.backends import incremental
from pipeline.backends.incremental import Batch
from pipeline.backends.xgboost import checkpoints
from pipeline.data import frames
from pipeline.data.target import classes
from pipeline.optional import load
from pipeline.system import memory
from pipeline.typing import Array, Estimator, Table, Target

OVERHEAD = 2**20
"""Bytes that XGBoost holds for a page while it trains, however few rows it has."""


def train(estimator: Estimator, X: Table, y: Target, sample_weight: Array = None) -> Any:
    """Return the booster of an estimator, trained on partitions that are read in turn.

    Every partition is made once and kept in a temporary folder; XGBoost keeps its bins of them
    there as well (`ExtMemQuantileDMatrix`).

    On a GPU a page is uploaded when it is asked for, and the bins are in the memory of the host.

    Parameters
    ----------
    estimator : xgboost estimator
        Unfitted, with its device set.
    X : dask.array.Array, shape (n_rows, n_columns)
    y, sample_weight : array of shape (n_rows,)
        On the host.
    """
    memory.give_back()  # what preprocessing has left
    with TemporaryDirectory(prefix="external-") as folder:
        pages = incremental.pages(X, y, sample_weight, Path(folder), _page_rows(X, len(y)))
        kept = checkpoints.begun(estimator, {"sample_weight": sample_weight}, lambda: _told(pages))
        memory.give_back()
        # What reads the folder is let go inside, before the folder is.
        with checkpoints.continued(estimator, kept, checkpoints.keeper) as more:
            return _trained(estimator, pages, folder, y, **more)


def _page_rows(X: Table, rows: int) -> int:
    """Return how many rows a page has best: so that what is held for and of pages is least.

    XGBoost 3.2 holds `OVERHEAD` for every page and about one page's bytes: the sum is least where
    a page is the geometric mean of `OVERHEAD` and of all rows.
    """
    width = X.shape[1] * X.dtype.itemsize
    return math.isqrt(OVERHEAD * rows * width) // width


def _told(pages: Sequence[Batch]) -> str:
    """Return what identifies the rows."""
    found = (checkpoints.fingerprint(page.read(), page.y, page.sample_weight) for page in pages)
    return hashlib.sha256("".join(found).encode()).hexdigest()


def _trained(
    estimator: Estimator, pages: Sequence[Batch], folder: str, y: Target, xgb_model: Any = None
) -> Any:
    matrix = load("xgboost.ExtMemQuantileDMatrix")(
        _iterator(pages, str(Path(folder) / "bins"), estimator),
        missing=estimator.missing,
        enable_categorical=estimator.enable_categorical,
        max_bin=estimator.max_bin,
        nthread=estimator.n_jobs,
    )
    rounds = estimator.get_num_boosting_rounds()
    memory.give_back()  # what finding the bins has left
    try:
        return load("xgboost.train")(
            _params(estimator, y),
            matrix,
            num_boost_round=rounds,
            xgb_model=xgb_model,
            callbacks=estimator.callbacks,
        )
    except BaseException as error:
        # What is behind the error would hold the matrix, and with it files of the folder.
        clear_frames(error.__traceback__)
        raise
    finally:
        del matrix


def _iterator(pages: Sequence[Batch], cache: str, estimator: Estimator) -> Any:
    device, kinds = estimator.device, estimator.feature_types

    class Batches(load("xgboost.DataIter")):  # type: ignore[misc]
        """What XGBoost asks for the next partition."""

        def __init__(self) -> None:
            self.at = 0
            super().__init__(cache_prefix=cache, on_host=device == "cuda")

        def reset(self) -> None:
            self.at = 0

        def next(self, input_data: Any) -> bool:
            if self.at == len(pages):
                return False
            page = pages[self.at]
            X, y, weight = (_on(device, each) for each in (page.read(), page.y, page.sample_weight))
            input_data(data=X, label=y, weight=weight, feature_types=kinds)
            self.at += 1
            return True

    return Batches()


def _on(device: str, array: Array) -> Any:
    return None if array is None else frames.to_device(array, device)


def _params(estimator: Estimator, y: Target) -> dict[str, Any]:
    """Return the parameters of the booster, as XGBoost's own `fit` chooses them."""
    params = dict(estimator.get_xgb_params())
    if hasattr(estimator, "predict_proba"):
        n_classes = len(classes(y))
        if n_classes > 2:
            params |= {"objective": "multi:softprob", "num_class": n_classes}
    return params
