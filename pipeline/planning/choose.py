"""CPU or GPU, before anything runs: by the rows, the columns, the algorithms and the memory.

From which size on a job is worth a GPU is assumed as long as no GPU has measured it: a table has
the rows from which on the CPU, whose times were measured, takes a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pipeline.backends import meta
from pipeline.backends.cuml.tables import public_name
from pipeline.backends.text_input import reads_text
from pipeline.data import frames
from pipeline.planning.classify import Kind, classify, kind_of_step, named_steps, validate
from pipeline.preprocessing.engine.tree import makes_sparse
from pipeline.system import devices, gpu
from pipeline.system.devices import Choice
from pipeline.typing import Table

COLUMNS = (10, 100, 1000)
"""Widths of the tables for which the smallest number of rows is known."""
WORDS = 100
"""Columns that a step behind a text vectorizer is assumed to read: different words of a text."""
TREES = 100
"""`n_estimators` that the sizes of forests and boosted trees hold for."""
USABLE = 0.9
"""The share of a GPU's memory that a job may plan with; the rest is the driver's."""


@dataclass(frozen=True)
class Family:
    """Algorithms whose time grows alike.

    Parameters
    ----------
    rows : tuple of float
        The fewest that are worth a GPU, of 10, 100 and 1000 columns.
    copies, pairs : float
        Matrices in float32 that it is assumed to need on a GPU: of rows x columns, of rows x rows.
    """

    rows: tuple[float, float, float]
    copies: float = 3
    pairs: float = 0

    def least_rows(self, columns: int) -> float:
        """Return the fewest rows of so many columns that are worth a GPU."""
        if inf in self.rows:
            return inf
        known = np.log(COLUMNS), np.log(self.rows)
        return math.exp(np.interp(math.log(max(columns, 1)), *known))

    def bytes(self, rows: int, columns: int, *, sparse: bool) -> float:
        """Return the memory of a GPU that a table needs; in CSR, a cell has its column's number."""
        cells = 2 * columns if sparse else columns
        return 4.0 * rows * (self.copies * cells + self.pairs * rows)


PREPROCESSING = Family((12_000_000, 140_000, 1_700), copies=6)
FAMILIES = {
    """sklearn.feature_extraction.text.CountVectorizer
    sklearn.feature_extraction.text.HashingVectorizer
    sklearn.feature_extraction.text.TfidfTransformer
    sklearn.feature_extraction.text.TfidfVectorizer""": Family((10_000, 10_000, 10_000), copies=0),
    """sklearn.discriminant_analysis.LinearDiscriminantAnalysis
    sklearn.linear_model.LinearRegression sklearn.linear_model.Ridge sklearn.linear_model.RidgeCV
    sklearn.linear_model.RidgeClassifierCV""": Family((2_400_000, 48_000, 970)),
    # Coordinate descent takes the CPU no second, of any size that was tried.
    "sklearn.linear_model.ElasticNet sklearn.linear_model.Lasso": Family((inf, inf, inf)),
    """sklearn.linear_model.LogisticRegression sklearn.linear_model.PoissonRegressor
    sklearn.svm.LinearSVC sklearn.svm.LinearSVR""": Family((640_000, 250_000, 95_000)),
    """sklearn.naive_bayes.BernoulliNB sklearn.naive_bayes.ComplementNB
    sklearn.naive_bayes.GaussianNB sklearn.naive_bayes.MultinomialNB""": Family(
        (3_400_000, 980_000, 290_000)
    ),
    """sklearn.neighbors.KNeighborsClassifier sklearn.neighbors.KNeighborsRegressor
    sklearn.neighbors.KernelDensity
    sklearn.neighbors.NearestNeighbors""": Family((22_000, 10_000, 4_700)),
    "sklearn.svm.SVC sklearn.svm.SVR": Family((6_700, 3_100, 1_400)),
    "sklearn.kernel_ridge.KernelRidge": Family((4_900, 4_200, 3_600), pairs=2),
    "sklearn.ensemble.RandomForestClassifier sklearn.ensemble.RandomForestRegressor": Family(
        (7_800, 2_500, 820)
    ),
    "sklearn.ensemble.IsolationForest": Family((200_000, 100_000, 54_000)),
    """xgboost.sklearn.XGBClassifier xgboost.sklearn.XGBRFClassifier
    xgboost.sklearn.XGBRFRegressor xgboost.sklearn.XGBRanker
    xgboost.sklearn.XGBRegressor""": Family((220_000, 6_700, 200), copies=2),
    """sklearn.cluster.KMeans
    sklearn.mixture.GaussianMixture""": Family((460_000, 110_000, 26_000)),
    "sklearn.cluster.DBSCAN": Family((33_000, 14_000, 5_600)),
    "hdbscan.hdbscan_.HDBSCAN sklearn.cluster.HDBSCAN": Family((13_000, 3_700, 1_000)),
    """sklearn.covariance.EmpiricalCovariance sklearn.covariance.LedoitWolf
    sklearn.decomposition.IncrementalPCA sklearn.decomposition.PCA
    sklearn.decomposition.TruncatedSVD""": Family((120_000_000, 8_400_000, 560_000)),
    """sklearn.kernel_approximation.Nystroem
    sklearn.random_projection.GaussianRandomProjection
    sklearn.random_projection.SparseRandomProjection""": Family(
        (480_000_000, 52_000_000, 5_700_000)
    ),
    """sklearn.cluster.SpectralClustering
    sklearn.manifold.SpectralEmbedding""": Family((2_300, 1_900, 1_600)),
    "sklearn.manifold.TSNE umap.umap_.UMAP": Family((7, 3, 1)),
}
FAMILY = {name: family for names, family in FAMILIES.items() for name in names.split()}
"""Public name of an estimator that has a rule for the GPU -> its family."""


@dataclass(frozen=True)
class _Job:
    """One step that has a rule for the GPU.

    Parameters
    ----------
    step : str
    share : float
        Its rows, in the fewest that are worth a GPU.
    bytes : float
        What it is assumed to need on a GPU.
    """

    step: str
    share: float
    bytes: float


def advise(
    estimator: BaseEstimator, n_rows: int, n_columns: int, gpu_memory_bytes: int | None = None
) -> Choice:
    """Return the device for an estimator and a table of this size, where there is a usable GPU.

    Parameters
    ----------
    estimator : estimator
    n_rows, n_columns : int
    gpu_memory_bytes : int, optional
        None where it is not known; it is not asked about then.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> advise(LogisticRegression(), 1_000, 10).name
    'cpu'
    >>> advise(LogisticRegression(), 1_000_000_000, 10).name
    'cuda'
    """
    jobs = list(_jobs(estimator, n_rows, n_columns))
    if not jobs:
        return Choice("cpu", "none of its steps has a rule for the GPU")
    if (share := sum(job.share for job in jobs)) < 1:
        return Choice("cpu", f"{share:.1%} of the smallest size that is worth a GPU (assumed)")
    # Only now, because it may import cuML, which takes longer than a small job.
    refused = {node.path: node.reasons for node in classify(estimator, "cuda") if node.reasons}
    left = [job for job in jobs if job.step not in refused]
    if (share := sum(job.share for job in left)) < 1:
        first = next(iter(refused.values()))[0]
        return Choice("cpu", f"too little is left for a GPU, which cannot run it all: {first}")
    needed = max(job.bytes for job in left)
    if gpu_memory_bytes is not None and needed > USABLE * gpu_memory_bytes:
        return Choice(
            "cpu",
            f"would need about {needed / 2**30:.1f} GiB (assumed) and the GPU has "
            f"{gpu_memory_bytes / 2**30:.1f} GiB",
        )
    return Choice("cuda", f"{share:,.1f} times the smallest size that is worth a GPU (assumed)")


def choose_for(device: str, estimator: BaseEstimator, X: Table) -> Choice:
    """Return the device that serves a request for an estimator and its training rows.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        Only ``"auto"`` is decided by the size.
    estimator : estimator
    X : table or sequence

    Raises
    ------
    ConfigError
        No such device, or an invalid estimator.
    DeviceUnavailable
        ``"cuda"`` was asked for and cannot be used here.
    """
    choice = devices.choose(device)
    if device != "auto" or choice.name == "cpu":
        return choice
    if frames.device_of(X) == "cuda":
        return Choice("cuda", f"{choice.why}; the table is on a GPU already")
    size = _shape(X)
    if size is None:
        return Choice("cuda", f"{choice.why}; how many rows there are is not known beforehand")
    what = "cells a row that are not zero" if frames.is_sparse(X) else "columns"
    return choose_by_size(choice, estimator, *size, what)


def choose_by_size(
    choice: Choice, estimator: BaseEstimator, n_rows: int, n_columns: int, what: str = "columns"
) -> Choice:
    """Return a choice of ``"auto"``, overruled where the job is too small or too large for it."""
    if choice.name == "cpu":
        return choice
    validate(estimator)
    advice = advise(estimator, n_rows, n_columns, _gpu_memory())
    named = f"{choice.why}; " if advice.name == "cuda" else ""
    return Choice(advice.name, f"{named}{n_rows:,} rows × {n_columns:,} {what}: {advice.why}")


def describe_sizes(estimator: BaseEstimator) -> str:
    """Return which sizes ``device="auto"`` would give to a GPU, where there is one.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> describe_sizes(HistGradientBoostingClassifier())
    'auto: the CPU, whatever the size'
    """
    of_texts = reads_text(estimator)
    least = {n: _least_rows(estimator, n) for n in ((1,) if of_texts else COLUMNS)}
    known = [(columns, f"{rows:,}") for columns, rows in least.items() if rows]
    if not known:
        return "auto: the CPU, whatever the size"
    (first, rows), *others = known
    sizes = [f"{rows} texts" if of_texts else f"{rows} rows of {first:,} columns"]
    sizes += [f"{rows} of {columns:,}" for columns, rows in others]
    return f"auto: a usable GPU from about {', '.join(sizes)}; else the CPU (sizes are assumed)"


def _least_rows(estimator: BaseEstimator, columns: int) -> int | None:
    """Return the fewest rows that are worth a GPU, to two digits; None if there is none."""
    share = sum(job.share for job in _jobs(estimator, 1, columns))
    return int(float(f"{1 / share:.1e}")) if share else None


def _jobs(
    estimator: BaseEstimator, rows: int, columns: int, *, sparse: bool = False
) -> Iterator[_Job]:
    """Yield the steps; of sparse rows, `columns` counts the cells: one for each one-hot column."""
    for step, part in named_steps(estimator):
        kind = kind_of_step(part)
        blocks = kind is Kind.PREPROCESSING
        if family := PREPROCESSING if blocks else FAMILY.get(public_name(part)):
            least = family.least_rows(columns) * TREES / _trees(part)
            share = _at_a_time(part, rows, columns) / least
            yield _Job(step, share, family.bytes(rows, columns, sparse=sparse))
        if meta.holds_estimators(part):
            for inner in meta.inner_estimators(part).values():
                jobs = _jobs(inner, rows, columns, sparse=sparse)
                yield from (replace(job, step=step) for job in jobs)
        columns = WORDS if kind is Kind.TEXT else columns
        sparse = makes_sparse(part, given=sparse)


def _trees(part: Any) -> int:
    return getattr(part, "n_estimators", None) or TREES


def _at_a_time(part: Any, rows: int, columns: int) -> int:
    """Return how many rows a step works on together: one batch after another is no large job."""
    if public_name(part) != "sklearn.decomposition.IncrementalPCA":
        return rows
    return min(rows, part.batch_size or 5 * columns)


def _shape(X: Table) -> tuple[int, int] | None:
    shape = getattr(X, "shape", None)
    if frames.is_partitioned(X) or (shape is None and not hasattr(X, "__len__")):
        return None
    if shape is None:
        first = X[0] if isinstance(X, list | tuple) and X else ""
        return len(X), len(first) if isinstance(first, list | tuple) else 1
    if frames.is_sparse(X):
        return int(shape[0]), math.ceil(X.nnz / max(shape[0], 1))
    return int(shape[0]), int(shape[1]) if len(shape) > 1 else 1


def _gpu_memory() -> int | None:
    known = [each.memory_bytes for each in gpu.probe().devices if each.memory_bytes]
    return min(known, default=None)
