"""OrdinalEncoder on blocks of codes: one gather a column."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

from pipeline.data import frames
from pipeline.preprocessing.engine.blocks import Block, Categories, Numbers
from pipeline.preprocessing.engine.twin import ANY
from pipeline.preprocessing.transformers.encoders import EncoderTwin, entries_for, grouped, has_nan


class OrdinalEncoderTwin(EncoderTwin):
    """The position of each value among the categories, as a number."""

    sklearn_class = OrdinalEncoder
    supported_params = {
        "categories": ANY,
        "handle_unknown": ANY,
        "unknown_value": ANY,
        "encoded_missing_value": ANY,
        "min_frequency": ANY,
        "max_categories": ANY,
        "dtype": ANY,
    }

    def table_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return the numbers that stand for each entry; -inf marks an unknown one."""
        unknown = (
            self.estimator.unknown_value if self.estimator.handle_unknown != "error" else -np.inf
        )
        learnt = self.fitted.categories_[j]
        if not has_nan(learnt):
            return entries_for(grouped(self.fitted, j, learnt).astype("float64"), known, unknown)
        numbers = grouped(self.fitted, j, learnt[:-1])
        numbers = np.append(numbers.astype("float64"), self.estimator.encoded_missing_value)
        return entries_for(numbers, known, unknown)

    def apply(self, block: Categories) -> Block:
        """Return a matrix of positions."""
        numbers = self.look_up(block.columns, -np.inf)
        matrix = frames.xp(numbers[0]).stack(numbers, axis=1)
        return Numbers(matrix.astype(self.estimator.dtype, copy=False))
