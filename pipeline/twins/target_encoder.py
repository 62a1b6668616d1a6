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
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.preprocessing import TargetEncoder
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target, unique_labels

from pipeline.blocks.block import Categories, Numbers
from pipeline.errors import DataError, Reason
from pipeline.table import encode, frames
from pipeline.table.target import encode_labels
from pipeline.twins.encoders import EncoderTwin, Tables, sums_at
from pipeline.twins.statistics.categories import CategorySums, place_codes, tally, tally_columns
from pipeline.twins.twin import any_value

OWN = (KFold, StratifiedKFold)
"""Splitters whose folds are known to be a partition, if they are no subclasses."""


class TargetEncoderTwin(EncoderTwin):
    """Each category becomes the mean of the target in it, shrunken towards the overall mean."""

    sklearn_class = TargetEncoder
    supported_params = {
        **any_value("smooth", "shuffle", "random_state"),
        "target_type": ("binary", "continuous"),
        "cv": ("a number, KFold or StratifiedKFold",),
    }
    needs_target = True

    @classmethod
    def unsupported_reasons(cls, estimator: TargetEncoder, step: str) -> list[Reason]:
        """Return the reasons why this estimator is not supported; other folds may be no partition.

        They must hold out every row exactly once, and train on all others.
        """
        reasons = super().unsupported_reasons(estimator, step)
        known = isinstance(estimator.cv, int | None) or type(estimator.cv) in OWN
        return [each for each in reasons if not (known and each.parameter == "cv")]

    def aligned(self, y: Any) -> tuple[Any, ...]:
        """Return the fold that holds each row out, and the target as a number.

        Where rows need only be counted, it is one for class and fold, otherwise what is summed,
        less its mean.
        """
        if y is None:
            raise DataError("TargetEncoder requires y to be passed, but the target y is None")
        y = np.asarray(y)
        seen = str(type_of_target(y, input_name="y"))
        self._kind = seen if self.estimator.target_type == "auto" else self.estimator.target_type
        self._classes, self._centre, self._n_counted = None, 0.0, 0
        if self._kind not in ("binary", "multiclass", "continuous"):
            raise DataError(
                f"Unknown label type: TargetEncoder cannot use a target of type {self._kind!r}; "
                "pass one column"
            )
        y = y.reshape(len(y))
        if self._kind == "continuous":
            folds, self._n_folds = _folds(self.estimator, y, labels=False)
            values = y.astype("float64")
            # Centred sums keep the digits of the variance when the mean is large.
            self._centre = float(values.mean())
            return folds, values - self._centre
        codes, classes = encode_labels(y)
        # Texts of fixed width, as scikit-learn's binarizer has them.
        self._classes = unique_labels(classes) if self._kind == "multiclass" else classes
        # Of labels, the splitters ask no more than which rows have the same one.
        if labels := seen in ("binary", "multiclass"):
            # Small integers are sorted several times as fast.
            y = codes.astype(np.min_scalar_type(len(classes)))
        folds, self._n_folds = _folds(self.estimator, y, labels=labels)
        # Rows of two labels, or of several if each gets a column, need only be counted.
        if self._kind == "multiclass" or len(classes) == 2:
            self._n_counted = len(classes)
        return folds, folds.astype("int64") * self._n_counted + codes

    def statistics(self, block: Categories, *aligned: Any) -> list[CategorySums]:
        """Sum the target by value and fold."""
        return tally_columns(block.columns, partial(self._sums, aligned))

    def _sums(self, aligned: tuple[Any, ...], column: encode.Coded) -> Any:
        """Count rows; then per fold those of each class, or rows, sum and squares of the target."""
        folds, values = aligned
        xp = frames.xp(column.codes)
        size = len(column.values) + 1
        places = place_codes(column.codes, size - 1, xp)
        if self._n_counted:
            n = self._n_folds * self._n_counted
            keys = values.astype("int64") * size + places
            sums = tally(keys, n * size, xp).reshape(n, size)
        else:
            n, keys = self._n_folds, folds.astype("int64") * size + places
            weights = (None, values, values * values)
            parts = [tally(keys, n * size, xp, w) for w in weights]
            sums = xp.concatenate([part.astype("float64") for part in parts]).reshape(-1, size)
        rows = sums[:n].sum(axis=0, keepdims=True)
        return xp.concatenate([rows, sums])

    def finalize(self, stats: list[CategorySums]) -> None:
        """Set `encodings_` from all rows, and keep those of each fold for the training rows."""
        super().finalize(stats)
        fitted = self.fitted
        fitted.target_type_, fitted.classes_ = self._kind, self._classes
        learnt = zip(stats, fitted.categories_, strict=True)
        sums = [self._expanded(sums_at(column, values)[1:]) for column, values in learnt]
        totals = self._expanded(stats[0].sums[1:].sum(axis=1, keepdims=True))[..., 0]
        overall = totals.sum(axis=1, keepdims=True)
        everything = self._encodings([t.sum(axis=1, keepdims=True) for t in sums], overall)
        fitted.encodings_ = [encoding[0] for column in everything for encoding in column]
        mean = self._centre + overall[1::2, 0] / overall[0, 0]
        fitted.target_mean_ = mean if self._kind == "multiclass" else mean[0]
        self._held_out = self._encodings(
            [table.sum(axis=1, keepdims=True) - table for table in sums], overall - totals
        )
        self._held_out_tables = Tables(self.learnt, self.held_out_table_of)

    def _expanded(self, sums: np.ndarray) -> np.ndarray:
        """Return rows, sums and sums of squares of each target, by fold and category."""
        if not self._n_counted:
            return sums.reshape(3, self._n_folds, -1)
        counts = sums.reshape(self._n_folds, self._n_counted, -1).swapaxes(0, 1)
        # The target is 1 in the rows of a class, so its sum and sum of squares are their number.
        targets = counts if self._kind == "multiclass" else counts[1:]
        return np.concatenate([counts.sum(axis=0, keepdims=True), targets.repeat(2, axis=0)])

    def _encodings(self, sums: list[np.ndarray], totals: np.ndarray) -> list[list[np.ndarray]]:
        """Return per column and target the encodings, shape (n_folds, n_categories)."""
        rows = [[0, 1 + 2 * t, 2 + 2 * t] for t in range(len(totals) // 2)]
        return [
            [self._centre + shrink(table[r], totals[r], self.estimator.smooth) for r in rows]
            for table in sums
        ]

    def fit_sklearn(self, encoder: Any, row: Any) -> None:
        """Let scikit-learn sort the categories; `finalize` sets the encodings."""
        encoder._fit(row, handle_unknown="ignore", ensure_all_finite="allow-nan")

    def table_of(self, j: int) -> np.ndarray:
        """Return the encodings of each category, one column a target; last the target's mean."""
        n_targets = len(self.fitted.encodings_) // len(self.fitted.categories_)
        encodings = self.fitted.encodings_[j * n_targets : (j + 1) * n_targets]
        means = np.atleast_1d(self.fitted.target_mean_)
        return np.column_stack([*map(np.append, encodings, means)])

    def held_out_table_of(self, j: int) -> np.ndarray:
        """Return the encodings of each category by fold, shape (n_values, n_folds, n_targets).

        The last entry is any number: no training row is of another category.
        """
        encodings = np.stack([each.T for each in self._held_out[j]], axis=2)
        return np.concatenate([encodings, encodings[:1]])

    def apply(self, block: Categories) -> Numbers:
        """Return the encodings learned from all rows."""
        encodings = self.look_up(block.columns)
        return Numbers(frames.xp(encodings[0]).concatenate(encodings, axis=1))

    def apply_training(self, block: Categories, *aligned: Any) -> Numbers:
        """Return for each row the encodings learned from the rows outside its fold."""
        folds = aligned[0]
        tables = self._held_out_tables
        encodings = [tables.of(j, c)[c.codes, folds] for j, c in enumerate(block.columns)]
        return Numbers(frames.xp(folds).concatenate(encodings, axis=1))


def shrink(sums: np.ndarray, totals: np.ndarray, smooth: float | str) -> np.ndarray:
    """Return the target means per category, shrunken towards the mean of all rows.

    The sums are rows, sum and sum of squares of the target, by fold and category; the totals are
    those over all categories.

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


def _folds(estimator: TargetEncoder, y: np.ndarray, *, labels: bool) -> tuple[np.ndarray, int]:
    """Return the fold that holds each row out, and how many folds there are.

    `labels` are codes, in order; scikit-learn would look for them in each row again.
    """
    options: dict[str, Any] = {
        "shuffle": True if estimator.shuffle == "deprecated" else estimator.shuffle
    }
    if estimator.random_state != "deprecated":
        options["random_state"] = estimator.random_state
    splitter = check_cv(estimator.cv, [0, 1], classifier=labels, **options)
    n_folds, n_rows = splitter.n_splits, len(y)
    if n_folds > n_rows:
        raise DataError(
            f"TargetEncoder: n_splits={n_folds} is more than the {n_rows} rows of X; lower cv"
        )
    if type(splitter) is StratifiedKFold and labels:
        counts = np.bincount(y)
        if counts.min() >= n_folds:  # else scikit-learn warns
            return _strata(splitter, y, counts), n_folds
    folds = np.empty(n_rows, dtype=np.min_scalar_type(n_folds))
    draw = splitter._iter_test_indices if type(splitter) is KFold else splitter._iter_test_masks
    try:
        for number, held_out in enumerate(draw(y, y)):
            folds[held_out] = number
    except ValueError as error:
        raise DataError(f"TargetEncoder: {error}") from error
    return folds, n_folds


def _strata(splitter: StratifiedKFold, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the fold of each row as `StratifiedKFold` draws it, but from small arrays.

    `counts` are the rows of each code.
    """
    # The classes in the order in which they first appear.
    order = np.argsort([(codes == code).argmax() for code in range(len(counts))])
    n_folds, rng = splitter.n_splits, check_random_state(splitter.random_state)
    numbers = np.arange(n_folds, dtype=np.min_scalar_type(n_folds))
    # Rows are dealt to the folds in turn, class after class; these are the rows that each has then.
    dealt = (np.append(0, counts[order].cumsum())[:, None] + n_folds - 1 - numbers) // n_folds
    folds = np.empty(len(codes), numbers.dtype)
    for code, share in zip(order, np.diff(dealt, axis=0), strict=True):
        of_class = numbers.repeat(share)
        if splitter.shuffle:
            rng.shuffle(of_class)
        folds[codes == code] = of_class
    return folds
