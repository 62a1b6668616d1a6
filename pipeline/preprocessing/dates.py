"""CalendarFeatures on blocks of dates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from pipeline.preprocessing.blocks import Dates, Numbers
from pipeline.preprocessing.calendar import CalendarFeatures, epoch_of, outputs
from pipeline.preprocessing.civil import encode
from pipeline.preprocessing.twin import ANY, Twin


class CalendarFeaturesTwin(Twin[int]):
    """The estimator's own arithmetic; nothing is learned but the number of columns.

    The fitted original is the `CalendarFeatures` itself, so a pipeline that is handed over
    needs this package where it is loaded.
    """

    original = CalendarFeatures
    honours = {"features": ANY, "cyclical": ANY, "epoch": ANY}
    reads = Dates

    def partial(self, block: Dates, *aligned: Any) -> int:
        """Return the number of columns."""
        return block.width

    def merge(self, a: int, b: int) -> int:
        """Return the width, which is the same for all blocks."""
        return a

    def finish(self, stats: int) -> None:
        """Fit the estimator on one missing time a column; it checks the parameters."""
        self.fitted = clone(self.spec).fit(np.full((1, stats), "NaT", dtype="datetime64[ns]"))
        self.record_names(stats)

    def apply(self, block: Dates) -> Numbers:
        """Return the features of each column, in float64."""
        return Numbers(encode(block.values, outputs(self.fitted), epoch_of(self.fitted)))
