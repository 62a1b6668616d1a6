"""From which size on a GPU is worth it, by families of estimators as in `compile/choose.py`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.manifold import TSNE
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.table import frames

COLUMNS, TEXTS = 50, 5
"""Of the table; of the one that is preprocessed, as many are texts."""
MOST = 2**22
"""Rows of the largest table."""
DIFFERENT = 2**16
"""Rows that are drawn; longer tables repeat them."""
GROWTH = 4
SECONDS = 90.0
"""For all families; what one leaves over goes to those after it."""
ENOUGH, TOO_LONG = 1.0, 4.0
"""Seconds: where a GPU is faster, it is worth it; a CPU is not asked for longer runs."""
FAR = GROWTH**2
"""Times the last size up to which, and below the first, the cells of a second are reckoned."""


class Family(NamedTuple):
    """An estimator that stands for those of like cost, and what is timed of it."""

    estimator: BaseEstimator
    rows: int
    """Of the first table."""
    calls: tuple[str, ...] = ("fit",)


NUMBERS = [f"x{i}" for i in range(COLUMNS)]
PREPROCESSING = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS[TEXTS:]),
    (OneHotEncoder(sparse_output=False), NUMBERS[:TEXTS]),
)
MIXTURE = GaussianMixture(
    8, covariance_type="diag", init_params="random_from_data", max_iter=20, random_state=0
)
FAMILIES = {
    "preprocessing": Family(PREPROCESSING, 2**10, ("fit_transform",)),
    "texts": Family(TfidfVectorizer(), 2**8, ("fit_transform",)),
    "least squares": Family(Ridge(), 2**12),
    "logistic regression": Family(LogisticRegression(), 2**10),
    "forests": Family(RandomForestClassifier(random_state=0), 2**8),
    "boosting": Family(XGBClassifier(random_state=0), 2**8),
    "neighbours": Family(KNeighborsClassifier(), 2**8, ("fit", "predict")),
    "k-means": Family(KMeans(8, random_state=0), 2**10),
    "kernels": Family(SVC(), 2**8),
    "embeddings": Family(TSNE(random_state=0), 2**7),
    "density": Family(DBSCAN(eps=6.0), 2**8),
    "components": Family(PCA(5), 2**12),
    "naive Bayes": Family(GaussianNB(), 2**12),
    "coordinate descent": Family(ElasticNet(), 2**12),
    "mixtures": Family(MIXTURE, 2**10),
}


class Tables:
    """Tables of the same rows, of any length."""

    def __init__(self, rows: int) -> None:
        rng = np.random.default_rng(0)
        drawn = rng.standard_normal((COLUMNS, min(rows, DIFFERENT)))
        # Each column lies by itself, as it does when it was read from a file.
        self.numbers = pd.DataFrame(
            np.tile(drawn, -(-rows // drawn.shape[1]))[:, :rows].T, columns=NUMBERS
        )
        words = rng.permutation([f"{first}{i}" for first in "abcde" for i in range(1000)])
        picked = words[(len(words) * rng.random((2**12, 100)) ** 3).astype(int)]
        self.texts = [" ".join(text) for text in picked]

    def rows(self, family: Family, n: int) -> tuple[Any, Any]:
        """Return the first rows, as a family takes them, and what is learnt of them, if any."""
        if family.estimator is PREPROCESSING:
            return self._mixed(n), None
        if isinstance(family.estimator, TfidfVectorizer):
            return pd.Series(np.resize(np.array(self.texts, object), n), dtype="str"), None
        X = self.numbers.iloc[:n]
        # Neither line can be learnt whole.
        y = X["x0"] + X["x1"] - X["x2"] + X["x3"] * X["x4"]
        if is_classifier(family.estimator):
            return X, (y > 0).astype("int64")
        return X, y if is_regressor(family.estimator) else None

    def _mixed(self, n: int) -> pd.DataFrame:
        X = self.numbers.iloc[:n, TEXTS:].copy()
        X.iloc[::20] = np.nan
        levels = pd.Series([f"level {i}" for i in range(20)], dtype="str")
        codes = (self.numbers.iloc[:n, :TEXTS].abs() * 1e6).astype("int64") % len(levels)
        texts = {name: levels.take(codes[name].to_numpy()).array for name in codes}
        return pd.concat([pd.DataFrame(texts, index=X.index), X], axis=1)


def sizes(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Time each family on the CPU and on the device, on tables of growing length."""
    end, most = time.monotonic() + SECONDS, min(MOST, given.rows)
    tables, record = Tables(most), {}
    for left, (name, family) in zip(range(len(FAMILIES), 0, -1), FAMILIES.items(), strict=True):
        found: dict[str, Any] = {
            "estimator": type(family.estimator).__name__, "calls": family.calls,
            "columns": 1 if name == "texts" else COLUMNS, "sizes": [], "error": "",
        }  # fmt: skip
        try:
            work(family, *tables.rows(family, family.rows), given.device)  # imports and compiles
            seconds = (end - time.monotonic()) / left
            for size in grow(family, tables, given.device, most, seconds):
                found["sizes"].append({**size, "cells": size["rows"] * found["columns"]})
        except Exception as error:  # of one family, and the next ones are to be seen
            found["error"] = f"{type(error).__name__}: {error}"
        record[name] = {**found, **derived(found["sizes"])}
        yield {"families": record}


def grow(
    family: Family, tables: Tables, device: str, most: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """Yield the seconds on the CPU and on the device, until they are enough or time is over."""
    end, rows, before = time.monotonic() + seconds, family.rows, 0.0
    while rows <= most:
        X, y = tables.rows(family, rows)
        gpu, cpu = (fastest(family, X, y, where) for where in (device, "cpu"))
        yield {"rows": rows, "cpu": cpu, "gpu": gpu}
        growth = max((cpu + gpu) / before, 1.0) if before else GROWTH
        late = time.monotonic() + 2 * growth * (cpu + gpu) > end
        if late or (gpu <= cpu and cpu >= ENOUGH) or cpu > TOO_LONG:
            return
        rows, before = rows * GROWTH, cpu + gpu


def fastest(family: Family, X: Any, y: Any, device: str) -> float:
    """Return the seconds of the fastest of three runs, or of two that are long."""
    runs: list[float] = []
    while len(runs) < 2 or (len(runs) < 3 and sum(runs) < ENOUGH):
        start = time.perf_counter()
        work(family, X, y, device)
        runs.append(time.perf_counter() - start)
    return min(runs)


def work(family: Family, X: Any, y: Any, device: str) -> None:
    """Fit, and answer where that is the cost, from rows on the host."""
    model = Accelerated(clone(family.estimator), device=device)
    for call in family.calls:
        getattr(model, call)(*((X,) if call == "predict" or y is None else (X, y)))
    frames.synchronize(device)


def derived(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the fewest cells from which on the GPU was as fast, and those of a CPU's second.

    The second's are on the line through the logarithms of the two sizes about it, or, where there
    are none, of the two nearest to it, unless they are further off than `FAR` times.

    >>> times = [(10, 0.1, 0.2), (40, 0.4, 0.2), (160, 1.6, 0.2)]
    >>> derived([{"cells": cells, "cpu": cpu, "gpu": gpu} for cells, cpu, gpu in times])
    {'gpu_from_cells': 40, 'cpu_second_cells': 100, 'extrapolated': False}
    """
    worth = second = None
    for each in reversed(found):
        if each["gpu"] > each["cpu"]:
            break
        worth = each["cells"]
    x, y = (np.log([each[name] for each in found]) for name in ("cells", "cpu"))
    right = next((i for i in range(1, len(y)) if y[i] >= 0), len(y) - 1)
    if len(y) > 1 and y[right] > y[right - 1]:
        place = x[right] - y[right] * (x[right] - x[right - 1]) / (y[right] - y[right - 1])
        if x[0] - np.log(FAR) <= place <= x[-1] + np.log(FAR):
            second = round(float(np.exp(place)))
    outside = second is not None and not y.min() <= 0 <= y.max()
    return {"gpu_from_cells": worth, "cpu_second_cells": second, "extrapolated": bool(outside)}
