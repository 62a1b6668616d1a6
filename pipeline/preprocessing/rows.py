"""Steps that look at one row at a time and learn nothing: Normalizer and Binarizer."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import Binarizer, Normalizer

from pipeline import frames
from pipeline.errors import DataError
from pipeline.preprocessing.blocks import Block, Numbers
from pipeline.preprocessing.twin import ANY, Twin

S = TypeVar("S")

EPS = float(np.finfo("float64").eps)


def require_finite(twin: Twin[Any], values: Any) -> None:
    """Check a block for a step that takes neither missing nor infinite values.

    Parameters
    ----------
    twin : Twin
        The step, for the message.
    values : array, shape (n_rows, n_columns)

    Raises
    ------
    DataError
        Some value is no finite number; the first such column is in the message.
    """
    xp = frames.array_module(frames.device_of(values))
    if values.dtype.kind != "f" or bool((finite := xp.isfinite(values)).all()):
        return
    j = int(xp.nonzero(~finite.all(axis=0))[0][0])
    name = j if twin.names is None else twin.names[j]
    what, way_out = "infinite values", "scale the column down, or leave it out"
    if bool(xp.isnan(values[:, j]).any()):
        what, way_out = "missing values (NaN)", "impute them before this step (SimpleImputer)"
    step = type(twin.spec).__name__
    raise DataError(f"{step}: column {name!r} holds {what}, which it does not take; {way_out}")


class FiniteTwin(Twin[S]):
    """A step that takes finite numbers only; `partial` has looked at those it is fitted on."""

    reads = Numbers

    def apply(self, block: Numbers) -> Block:
        """Transform a block, once it is checked."""
        require_finite(self, block.values)
        return self.apply_training(block)

    @abstractmethod
    def apply_training(self, block: Numbers, *aligned: Any) -> Block:
        """Transform a block of finite numbers."""


class StatelessTwin(FiniteTwin[int]):
    """A step whose fit only checks its input; the statistic is the number of columns."""

    def partial(self, block: Numbers, *aligned: Any) -> int:
        """Check the block, and return its width."""
        require_finite(self, block.values)
        return block.width

    def merge(self, a: int, b: int) -> int:
        """Return the width, which is the same for all blocks."""
        return a

    def finish(self, stats: int) -> None:
        """Fit scikit-learn's transformer on one row; it checks the parameters."""
        self.fitted = clone(self.spec).fit(np.zeros((1, stats)))
        self.record_names(stats)


class NormalizerTwin(StatelessTwin):
    """Divide each row by its norm; rows of zeros stay.

    All arithmetic is in float64. Scikit-learn computes a float32 table in
    float32 and leaves rows with a norm below 1.2e-6 as they are there; here the
    bound is that of float64, 2.2e-15.
    """

    original = Normalizer
    honours = {"norm": ANY, "copy": ANY}

    def apply_training(self, block: Numbers, *aligned: Any) -> Numbers:
        """Return the block with rows of norm one, in float64."""
        xp = frames.array_module(frames.device_of(block.values))
        values = block.values.astype("float64", copy=False)
        norms = _norms(values, self.spec.norm, xp)
        return Numbers(values / xp.where(norms < 10 * EPS, 1.0, norms)[:, None])


def _norms(values: Any, norm: str, xp: Any) -> Any:
    if norm == "l2":
        return xp.sqrt((values * values).sum(axis=1))
    sizes = xp.abs(values)
    return sizes.sum(axis=1) if norm == "l1" else sizes.max(axis=1)


class BinarizerTwin(StatelessTwin):
    """One where a value is above the threshold, else zero, in the type of the block."""

    original = Binarizer
    honours = {"threshold": ANY, "copy": ANY}

    def apply_training(self, block: Numbers, *aligned: Any) -> Numbers:
        """Return zeros and ones."""
        values = block.values
        # As scikit-learn: float32 is compared as float32, so 0.1 is not above 0.1.
        sizes = values if values.dtype.kind == "f" else values.astype("float64")
        return Numbers((sizes > self.spec.threshold).astype(values.dtype))
