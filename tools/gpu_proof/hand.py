"""The programs of tasks/synthetic.py as someone writes them who knows cuDF, CuPy, cuML and XGBoost.

The same lines run with pandas, NumPy and scikit-learn, which is how they are tested.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from xgboost import XGBClassifier

from datasets import synthetic
from pipeline.benchmark.task import Split
from pipeline.optional import load
from tasks import synthetic as task

FOLDS, KNOTS, FRIDAY = 5, 4, 4
TEXTS = [*task.FEW, *task.MANY]
LINEAR = "linear_model.LogisticRegression"
LIBRARIES = {"cpu": ("pandas", "numpy", "sklearn"), "cuda": ("cudf", "cupy", "cuml")}
Both = tuple[list[Any], list[Any]]
"""Columns of the training rows, and the same of the test rows."""


class ByHand:
    """Reads, encodes and trains on one device.

    Parameters
    ----------
    device : {"cpu", "cuda"}
    seed : int
    """

    def __init__(self, device: str, seed: int) -> None:
        self.device, self.seed = device, seed
        frames, arrays, self.models = LIBRARIES[device]
        self.df: Any = load(frames)
        self.xp: Any = load(arrays)

    def run(self, pipeline: str, path: Path, split: Split) -> tuple[np.ndarray, np.ndarray]:
        """Return the test rows' target and their probabilities of class 1, on the host."""
        train, test = (self._read(path, rows) for rows in (split.train, split.test))
        y, y_true = (self._values(rows[task.TASK.target]) for rows in (train, test))
        model, X, X_test = getattr(self, f"_{pipeline}")(train, test, y)
        model.fit(X, y)
        return self._host(y_true), self._host(model.predict_proba(X_test)[:, 1])

    def _boosting(self, train: Any, test: Any, y: Any) -> tuple[Any, Any, Any]:
        fold = self._fold(y)
        columns = [self._plain(train[name], test[name]) for name in task.NUMBERS]
        columns += [self._rates(train[name], test[name], y, fold) for name in TEXTS]
        columns += [self._plain(*_weekdays(train, test, name)) for name in synthetic.DATES]
        model = XGBClassifier(
            n_estimators=60, max_depth=4, learning_rate=0.2,
            random_state=self.seed, device=self.device,
        )  # fmt: skip
        return model, *self._matrices(columns)

    def _logistic(self, train: Any, test: Any, y: Any) -> tuple[Any, Any, Any]:
        fold = self._fold(y)
        columns = [self._curves(train[name], test[name]) for name in task.NUMBERS]
        columns += [self._one_hot(train[name], test[name]) for name in task.FEW]
        rates = (self._rates(train[name], test[name], y, fold) for name in task.MANY)
        columns += map(self._scaled, rates)
        columns += [self._weekend(*_weekdays(train, test, name)) for name in synthetic.DATES]
        return load(f"{self.models}.{LINEAR}")(max_iter=300), *self._matrices(columns)

    def _read(self, path: Path, rows: Any) -> Any:
        names = [*task.TASK.features, task.TASK.target]
        return self.df.read_parquet(str(path), columns=names, filters=list(rows))

    def _fold(self, y: Any) -> Any:
        return self.xp.random.RandomState(self.seed).permutation(len(y)) % FOLDS

    def _plain(self, train: Any, test: Any) -> Both:
        return [self._floats(train)], [self._floats(test)]

    def _rates(self, train: Any, test: Any, y: Any, fold: Any) -> Both:
        """Return the rates of the other folds for training rows, and of all for test rows.

        Empirical Bayes as in scikit-learn's `TargetEncoder(smooth="auto")`: Micci-Barreca, *A
        preprocessing scheme for high-cardinality categorical attributes* (2001).
        """
        levels, codes, others = self._codes(train, test)
        cells, size = codes * FOLDS + fold, levels * FOLDS
        total = self.xp.bincount(cells, y, minlength=size).reshape(levels, FOLDS)
        rows = self.xp.bincount(cells, minlength=size).reshape(levels, FOLDS)
        all_total, all_rows = total.sum(1, keepdims=True), rows.sum(1, keepdims=True)
        crossed = self._smoothed(all_total - total, all_rows - rows)
        return [crossed[codes, fold]], [self._smoothed(all_total, all_rows)[others, 0]]

    def _codes(self, train: Any, test: Any) -> tuple[int, Any, Any]:
        """Return how many texts there are, and which each row has; 0 is missing or unknown."""
        train, test = (column.astype("category") for column in (train, test))
        known = train.cat.categories
        codes, others = (
            self._values(column.cat.set_categories(known).cat.codes.fillna(-1)).astype("int64") + 1
            for column in (train, test)
        )
        return len(known) + 1, codes, others

    def _smoothed(self, total: Any, rows: Any) -> Any:
        mean = total.sum(0) / rows.sum(0)
        variance = mean * (1 - mean)
        own = total / self.xp.maximum(rows, 1)
        spread = variance * rows + own * (1 - own)
        weight = variance * rows / self.xp.where(spread > 0, spread, 1)
        return weight * own + (1 - weight) * mean

    def _one_hot(self, train: Any, test: Any) -> Both:
        levels, *both = self._codes(train, test)
        known, new = ([codes == level for level in range(levels)] for codes in both)
        return known, new

    def _scaled(self, both: Both) -> Both:
        (known,), (new,) = both
        mean, deviation = known.mean(), known.std()
        return [(known - mean) / deviation], [(new - mean) / deviation]

    def _curves(self, train: Any, test: Any) -> Both:
        """Return splines of degree 1 on knots as far from each other; missing is the mean."""
        xp, both = self.xp, [self._floats(column) for column in (train, test)]
        mean, low, high = (f(both[0]) for f in (xp.nanmean, xp.nanmin, xp.nanmax))
        filled = (xp.where(xp.isnan(column), mean, column) for column in both)
        places = [(xp.clip(c, low, high) - low) / (high - low) * (KNOTS - 1) for c in filled]
        known, new = ([xp.maximum(1 - abs(at - k), 0) for k in range(KNOTS)] for at in places)
        return known, new

    def _weekend(self, train: Any, test: Any) -> Both:
        xp, both = self.xp, [self._floats(day) for day in (train, test)]
        share = (both[0] > FRIDAY).sum() / (~xp.isnan(both[0])).sum()
        known, new = ([xp.where(xp.isnan(day), share, day > FRIDAY)] for day in both)
        return known, new

    def _matrices(self, columns: list[Both]) -> list[Any]:
        return [self._matrix([c for both in columns for c in both[side]]) for side in (0, 1)]

    def _matrix(self, columns: list[Any]) -> Any:
        made = self.xp.empty((len(columns[0]), len(columns)), "float32")
        for j, column in enumerate(columns):
            made[:, j] = column
        return made

    def _values(self, series: Any) -> Any:
        return series.to_numpy() if self.device == "cpu" else series.to_cupy()

    def _floats(self, series: Any) -> Any:
        if self.device == "cpu":
            return series.to_numpy("float32", na_value=np.nan)
        return series.astype("float32").to_cupy(na_value=np.nan)

    @staticmethod
    def _host(values: Any) -> np.ndarray:
        return np.asarray(values.get() if hasattr(values, "get") else values)


def _weekdays(train: Any, test: Any, name: str) -> Any:
    return train[name].dt.weekday, test[name].dt.weekday
