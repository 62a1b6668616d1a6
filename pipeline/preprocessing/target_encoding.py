"""TargetEncoder on blocks: shrunken target means per category, cross-fitted.

Formulae: Micci-Barreca, "A preprocessing scheme for high-cardinality
categorical attributes in classification and prediction problems" (2001), as
scikit-learn implements them. Sums are kept per fold, so one pass gives the
encodings of all rows and those of the rows outside each fold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.preprocessing import LabelBinarizer, LabelEncoder, TargetEncoder
from sklearn.utils.multiclass import type_of_target

from pipeline import frames
from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.blocks import Categories, Numbers
from pipeline.preprocessing.distinct import Distinct, count
from pipeline.preprocessing.encoding import UNKNOWN, EncoderTwin, Tables, find, sums_at
from pipeline.preprocessing.twin import ANY


class Target(NamedTuple):
    """What the encoder knows of y.

    Parameters
    ----------
    kind : str
        ``"binary"``, ``"multiclass"`` or ``"continuous"``.
    classes : numpy.ndarray or None
        The labels, sorted; None for a continuous target.
    values : numpy.ndarray, shape (n_rows, n_targets)
        y as float64: one column, or one indicator a class.
    folds : numpy.ndarray of int, shape (n_rows,)
        The fold in which each row is held out.
    """

    kind: str
    classes: np.ndarray | None
    values: np.ndarray
    folds: np.ndarray


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
        """Return the target, centred, and the folds."""
        if y is None:
            raise DataError("TargetEncoder needs the target: pass y to fit")
        target = self._target = read_target(self.spec, np.asarray(y))
        self.n_folds = int(target.folds.max()) + 1
        # Centred sums keep the digits of the variance when the mean is large; those of
        # class indicators are exact as they are, so pure categories stay exactly 0 or 1.
        centred = target.kind == "continuous"
        self._centre = target.values.mean(axis=0) * centred
        return target.values - self._centre, target.folds

    def _tally(self, column: frames.Coded, *aligned: Any) -> Distinct:
        """Per fold: rows, then sum and sum of squares of each target column."""
        values, folds = aligned
        xp = frames.array_module(frames.device_of(column.codes))
        size = len(column.values) + 1
        keys = folds * size + column.codes.astype("int64") % size
        weights = [None, *(w for v in values.T for w in (v, v * v))]
        sums = [xp.bincount(keys, weights=w, minlength=self.n_folds * size) for w in weights]
        stacked = xp.stack([s.astype("float64").reshape(self.n_folds, size) for s in sums])
        by_fold = frames.to_host(stacked).reshape(-1, size)
        rows = frames.to_host(count(column.codes, size - 1, xp))[None].astype("float64")
        return Distinct(column.values, np.concatenate([rows, by_fold]))

    def finish(self, stats: list[Distinct]) -> None:
        """Set `encodings_` from all rows, and keep those of each fold for the training rows."""
        super().finish(stats)
        target, fitted = self._target, self.fitted
        fitted.target_type_, fitted.classes_ = target.kind, target.classes
        sums = [self._by_fold(c, fitted.categories_[j]) for j, c in enumerate(stats)]
        whole = [table.sum(axis=1, keepdims=True) for table in sums]
        everything = self._encodings(whole, self._totals(np.ones_like(target.folds), 2)[:, 1:])
        fitted.encodings_ = [encoding[0] for column in everything for encoding in column]
        mean = target.values.mean(axis=0)
        fitted.target_mean_ = mean if target.kind == "multiclass" else mean[0]
        totals = self._totals(target.folds, self.n_folds)
        outside = totals.sum(axis=1, keepdims=True) - totals
        self._unlisted_mean = self._centre + outside[1::2, -1] / outside[0, -1]
        self._held_out = self._encodings(
            [table.sum(axis=1, keepdims=True) - table for table in sums], outside
        )
        self._held_out_tables = Tables(self.known, self.held_out_table_of)
        del self._target

    def _by_fold(self, column: Distinct, learnt: np.ndarray) -> np.ndarray:
        """Return sums of shape (1 + 2 n_targets, n_folds, n_categories)."""
        sums = sums_at(column, learnt)[1:]
        # scikit-learn counts the rows of values that are not listed to the first category.
        unlisted = find(learnt, column.values) == UNKNOWN
        sums[:, 0] += column.sums[1:, unlisted].sum(axis=1)
        return sums.reshape(-1, self.n_folds, len(learnt))

    def _totals(self, folds: np.ndarray, n_folds: int) -> np.ndarray:
        """Return rows, sums and sums of squares of the target, shape (1 + 2 n_targets, n_folds)."""
        centred = self._target.values - self._centre
        weights = [None, *(w for v in centred.T for w in (v, v * v))]
        return np.stack([np.bincount(folds, weights=w, minlength=n_folds) for w in weights])

    def _encodings(self, sums: list[np.ndarray], totals: np.ndarray) -> list[list[np.ndarray]]:
        """Return per column and target the encodings, shape (n_folds, n_categories)."""
        n_targets = (len(totals) - 1) // 2
        return [
            [
                self._centre[t]
                + shrink(
                    table[[0, 1 + 2 * t, 2 + 2 * t]],
                    totals[[0, 1 + 2 * t, 2 + 2 * t]],
                    self.spec.smooth,
                )
                for t in range(n_targets)
            ]
            for table in sums
        ]

    def fit_original(self, table: Any, stats: list[Distinct]) -> Any:
        """Let scikit-learn sort the categories; `finish` replaces the encodings."""
        spec = self.prepared().set_params(target_type="continuous", smooth=1.0)
        return spec.fit(table, np.zeros(len(table)))

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
        folds = aligned[1]
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


def read_target(spec: TargetEncoder, y: np.ndarray) -> Target:
    """Return the target as numbers, and the folds that scikit-learn's encoder would make."""
    kind = type_of_target(y, input_name="y") if spec.target_type == "auto" else spec.target_type
    if kind not in ("binary", "multiclass", "continuous"):
        raise DataError(f"TargetEncoder cannot use a target of type {kind!r}; pass one column")
    y = y.reshape(len(y))
    values, classes = _values(kind, y)
    return Target(kind, classes, values, _folds(_splitter(spec, y, kind), y))


def _folds(splitter: Any, y: np.ndarray) -> np.ndarray:
    """Return the fold that holds each row out; the rows outside are what it is learnt from."""
    folds = np.full(len(y), -1)
    for number, (train, held_out) in enumerate(splitter.split(np.zeros(len(y)), y)):
        outside = np.delete(np.arange(len(y)), held_out)
        if (folds[held_out] >= 0).any() or not np.array_equal(np.sort(train), outside):
            folds[:] = -1
            break
        folds[held_out] = number
    if (folds < 0).any():
        raise ConfigError(
            "TargetEncoder: cv must hold out every row exactly once and train on all others; "
            "pass a number, KFold or StratifiedKFold"
        )
    return folds


def _values(kind: str, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    if kind == "continuous":
        return y.astype("float64")[:, None], None
    encoder = LabelEncoder() if kind == "binary" else LabelBinarizer()
    encoded = encoder.fit_transform(y).astype("float64")
    if kind == "multiclass" and len(encoder.classes_) < 3:
        raise DataError(
            f"TargetEncoder: target_type='multiclass' and y has {len(encoder.classes_)} labels; "
            "leave target_type out"
        )
    return encoded.reshape(len(y), -1), encoder.classes_


def _splitter(spec: TargetEncoder, y: np.ndarray, kind: str) -> Any:
    options: dict[str, Any] = {"shuffle": True if spec.shuffle == "deprecated" else spec.shuffle}
    if spec.random_state != "deprecated":
        options["random_state"] = spec.random_state
    return check_cv(spec.cv, y, classifier=kind != "continuous", **options)
