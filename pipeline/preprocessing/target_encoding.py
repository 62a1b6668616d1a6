"""TargetEncoder on blocks: shrunken target means per category, cross-fitted.

Formulae: Micci-Barreca, "A preprocessing scheme for high-cardinality
categorical attributes in classification and prediction problems" (2001), as
scikit-learn implements them. Sums are kept per fold, so one pass gives the
encodings of all rows and those of the rows outside each fold.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import TargetEncoder

from pipeline import frames
from pipeline.errors import DataError
from pipeline.preprocessing.blocks import Categories, Numbers
from pipeline.preprocessing.distinct import Distinct, place, tallies, tally
from pipeline.preprocessing.encoding import (
    UNKNOWN,
    EncoderTwin,
    Tables,
    find,
    fit_counted,
    sums_at,
)
from pipeline.preprocessing.targets import read_target
from pipeline.preprocessing.twin import ANY


class TargetEncoderTwin(EncoderTwin):
    """Each category becomes the mean of the target in it, shrunken towards the overall mean."""

    original = TargetEncoder
    honours = {
        "categories": ANY,
        "target_type": ANY,
        "smooth": ANY,
        "cv": ANY,
        "shuffle": ANY,
        "random_state": ANY,
    }

    def aligned(self, y: Any) -> tuple[Any, ...]:
        """Return the folds, and the target: centred, or as a number for class and fold."""
        if y is None:
            raise DataError("TargetEncoder requires y to be passed, but the target y is None")
        target = read_target(self.spec, np.asarray(y))
        self._kind, self._classes, self._centre = target.kind, target.classes, target.centre
        self.n_folds, self.n_counted = target.n_folds, target.n_counted
        return target.folds, target.values

    def partial(self, block: Categories, *aligned: Any) -> list[Distinct]:
        """Sum the target by value and fold."""
        return tallies(block.columns, partial(self._sums, aligned))

    def _sums(self, aligned: tuple[Any, ...], column: frames.Coded) -> Any:
        """Count rows; then per fold those of each class, or rows, sum and squares of the target."""
        folds, values = aligned
        xp = frames.array_module(frames.device_of(column.codes))
        size = len(column.values) + 1
        places = place(column.codes, size - 1, xp)
        if self.n_counted:
            n = self.n_folds * self.n_counted
            keys = values.astype("int64") * size + places
            sums = tally(keys, n * size, xp).reshape(n, size)
        else:
            n, keys = self.n_folds, folds.astype("int64") * size + places
            weights = (None, values, values * values)
            parts = [tally(keys, n * size, xp, w) for w in weights]
            sums = xp.concatenate([part.astype("float64") for part in parts]).reshape(-1, size)
        rows = sums[:n].sum(axis=0, keepdims=True)
        return xp.concatenate([rows, sums])

    def finish(self, stats: list[Distinct]) -> None:
        """Set `encodings_` from all rows, and keep those of each fold for the training rows."""
        super().finish(stats)
        fitted = self.fitted
        fitted.target_type_, fitted.classes_ = self._kind, self._classes
        sums = [self._by_fold(c, fitted.categories_[j]) for j, c in enumerate(stats)]
        totals = self._expanded(stats[0].sums[1:].sum(axis=1, keepdims=True))[..., 0]
        overall = totals.sum(axis=1, keepdims=True)
        everything = self._encodings([t.sum(axis=1, keepdims=True) for t in sums], overall)
        fitted.encodings_ = [encoding[0] for column in everything for encoding in column]
        mean = self._centre + overall[1::2, 0] / overall[0, 0]
        fitted.target_mean_ = mean if self._kind == "multiclass" else mean[0]
        outside = overall - totals
        self._unlisted_mean = self._centre + outside[1::2, -1] / outside[0, -1]
        self._held_out = self._encodings(
            [table.sum(axis=1, keepdims=True) - table for table in sums], outside
        )
        self._held_out_tables = Tables(self.known, self.held_out_table_of)

    def _by_fold(self, column: Distinct, learnt: np.ndarray) -> np.ndarray:
        """Return sums of shape (1 + 2 n_targets, n_folds, n_categories)."""
        sums = sums_at(column, learnt)[1:]
        # scikit-learn counts the rows of values that are not listed to the first category.
        unlisted = find(learnt, column.values) == UNKNOWN
        sums[:, 0] += column.sums[1:, unlisted].sum(axis=1)
        return self._expanded(sums)

    def _expanded(self, sums: np.ndarray) -> np.ndarray:
        """Return rows, sums and sums of squares of each target, by fold."""
        if not self.n_counted:
            return sums.reshape(3, self.n_folds, -1)
        counts = sums.reshape(self.n_folds, self.n_counted, -1).swapaxes(0, 1)
        # The target is 1 in the rows of a class, so its sum and sum of squares are their number.
        targets = counts if self._kind == "multiclass" else counts[1:]
        return np.concatenate([counts.sum(axis=0, keepdims=True), targets.repeat(2, axis=0)])

    def _encodings(self, sums: list[np.ndarray], totals: np.ndarray) -> list[list[np.ndarray]]:
        """Return per column and target the encodings, shape (n_folds, n_categories)."""
        rows = [[0, 1 + 2 * t, 2 + 2 * t] for t in range(len(totals) // 2)]
        return [
            [self._centre + shrink(table[r], totals[r], self.spec.smooth) for r in rows]
            for table in sums
        ]

    def fit_original(self, stats: list[Distinct]) -> Any:
        """Let scikit-learn sort the categories; `finish` sets the encodings."""
        encoder = self.prepared()

        def fit(row: Any) -> Any:
            return encoder._fit(row, handle_unknown="ignore", ensure_all_finite="allow-nan")

        return fit_counted(encoder, stats, self.names, fit)

    def table_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return the encodings of each entry, one column a target."""
        n_targets = len(self.fitted.encodings_) // len(self.fitted.categories_)
        encodings = self.fitted.encodings_[j * n_targets : (j + 1) * n_targets]
        mean = np.atleast_1d(self.fitted.target_mean_)
        return np.stack(
            [
                np.where(known == UNKNOWN, m, np.append(e, m)[known])
                for e, m in zip(encodings, mean, strict=True)
            ],
            axis=1,
        )

    def held_out_table_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return the encodings of each entry for each fold, shape (n_values, n_folds, n_targets).

        Unlisted values get the mean outside the last fold, as scikit-learn's last split gives it
        to the rows of all folds; entries that do not occur get any number.
        """
        columns = zip(self._held_out[j], self._unlisted_mean, strict=True)
        rows = np.maximum(known, 0)
        return np.stack([np.where(known == UNKNOWN, m, e[:, rows]).T for e, m in columns], axis=2)

    def apply(self, block: Categories) -> Numbers:
        """Return the encodings learnt from all rows."""
        xp = frames.array_module(frames.device_of(block.columns[0].codes))
        found = [self.tables.of(j, c)[c.codes] for j, c in enumerate(block.columns)]
        return Numbers(xp.concatenate(found, axis=1))

    def apply_training(self, block: Categories, *aligned: Any) -> Numbers:
        """Return for each row the encodings learnt from the rows outside its fold."""
        folds = aligned[0]
        xp = frames.array_module(frames.device_of(folds))
        tables = self._held_out_tables
        found = [tables.of(j, c)[c.codes, folds] for j, c in enumerate(block.columns)]
        return Numbers(xp.concatenate(found, axis=1))


def shrink(sums: np.ndarray, totals: np.ndarray, smooth: float | str) -> np.ndarray:
    """Return the target means per category, shrunken towards the mean of all rows.

    Parameters
    ----------
    sums : numpy.ndarray, shape (3, n_folds, n_categories)
        Rows, sum and sum of squares of the target in each category.
    totals : numpy.ndarray, shape (3, n_folds)
        The same over all categories.
    smooth : float or "auto"
        Weight of the overall mean in rows; ``"auto"`` is the empirical Bayes
        estimate from the variances within and between categories.

    >>> shrink(np.array([[[4.0]], [[4.0]], [[4.0]]]), np.array([[8.0], [4.0], [4.0]]), 4.0)
    array([[0.75]])
    """
    rows, total, squares = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (totals[1] / totals[0])[:, None]
        if smooth != "auto":
            shrunk = (total + smooth * mean) / (rows + smooth)
            return np.where(rows + smooth > 0, shrunk, mean)
        variance = (totals[2] / totals[0])[:, None] - mean**2
        within = np.maximum(squares / rows - (total / rows) ** 2, 0.0)
        weight = variance * rows / (variance * rows + within)
        shrunk = weight * (total / rows) + (1 - weight) * mean
        return np.where(np.isnan(weight), mean, shrunk)
