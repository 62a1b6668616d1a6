"""The program `boosting` of tasks/synthetic.py, as someone writes it who knows cuDF and XGBoost.

The same lines run with pandas and NumPy, which is how they are tested.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from xgboost import XGBClassifier

from datasets import synthetic
from pipeline.optional import load
from pipeline.task import Split
from tasks import synthetic as task

FOLDS = 5
LIBRARIES = {"cpu": ("pandas", "numpy"), "cuda": ("cudf", "cupy")}
TEXTS = [*task.FEW, *task.MANY]


class ByHand:
    """Reads, encodes and trains on one device.

    Parameters
    ----------
    device : {"cpu", "cuda"}
    seed : int
    """

    def __init__(self, device: str, seed: int) -> None:
        self.device, self.seed = device, seed
        frames, arrays = LIBRARIES[device]
        self.df: Any = load(frames)
        self.xp: Any = load(arrays)

    def run(self, path: Path, split: Split) -> tuple[np.ndarray, np.ndarray]:
        """Return the test rows' target and their probabilities of class 1, on the host."""
        train, test = (self._read(path, rows) for rows in (split.train, split.test))
        y = train[task.TASK.target].values
        fold = self.xp.random.RandomState(self.seed).permutation(len(y)) % FOLDS
        known, unknown = [], []
        for name in TEXTS:
            crossed, whole = self._encoded(train[name], test[name], y, fold)
            known.append(crossed)
            unknown.append(whole)
        model = XGBClassifier(
            n_estimators=60, max_depth=4, learning_rate=0.2,
            random_state=self.seed, device=self.device,
        )  # fmt: skip
        model.fit(self._matrix(train, known), y)
        found = model.predict_proba(self._matrix(test, unknown))[:, 1]
        return self._host(test[task.TASK.target].values), self._host(found)

    def _read(self, path: Path, rows: Any) -> Any:
        names = [*task.TASK.features, task.TASK.target]
        return self.df.read_parquet(str(path), columns=names, filters=list(rows))

    def _encoded(self, train: Any, test: Any, y: Any, fold: Any) -> tuple[Any, Any]:
        """Return the rates of the other folds for training rows, and of all for test rows.

        Empirical Bayes as in scikit-learn's `TargetEncoder(smooth="auto")`: Micci-Barreca, *A
        preprocessing scheme for high-cardinality categorical attributes* (2001).
        """
        train, test = (column.astype("category") for column in (train, test))
        known = train.cat.categories
        codes, others = (
            # Missing and unknown texts come first.
            column.cat.set_categories(known).cat.codes.values.astype("int64") + 1
            for column in (train, test)
        )
        cells, levels = codes * FOLDS + fold, len(known) + 1
        size = levels * FOLDS
        total = self.xp.bincount(cells, y, minlength=size).reshape(levels, FOLDS)
        rows = self.xp.bincount(cells, minlength=size).reshape(levels, FOLDS)
        all_total, all_rows = total.sum(1, keepdims=True), rows.sum(1, keepdims=True)
        crossed = self._smoothed(all_total - total, all_rows - rows)
        return crossed[codes, fold], self._smoothed(all_total, all_rows)[others, 0]

    def _smoothed(self, total: Any, rows: Any) -> Any:
        mean = total.sum(0) / rows.sum(0)
        variance = mean * (1 - mean)
        own = total / self.xp.maximum(rows, 1)
        spread = variance * rows + own * (1 - own)
        weight = variance * rows / self.xp.where(spread > 0, spread, 1)
        return weight * own + (1 - weight) * mean

    def _matrix(self, frame: Any, encoded: list[Any]) -> Any:
        numbers = [self._floats(frame[name]) for name in task.NUMBERS]
        days = [self._floats(frame[name].dt.weekday) for name in synthetic.DATES]
        columns = [*numbers, *encoded, *days]
        made = self.xp.empty((len(frame), len(columns)), "float32")
        for j, column in enumerate(columns):
            made[:, j] = column
        return made

    def _floats(self, series: Any) -> Any:
        if self.device == "cpu":
            return series.to_numpy("float32", na_value=np.nan)
        return series.astype("float32").to_cupy(na_value=np.nan)

    @staticmethod
    def _host(values: Any) -> np.ndarray:
        return np.asarray(values.get() if hasattr(values, "get") else values)
