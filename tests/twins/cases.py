"""The transformers of numbers, and the table, that the tests of `transformers` share."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif, f_regression
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from pipeline import CalendarFeatures
from tests.names import plain

ROWS = 150
STRATEGIES = ["mean", "median", "most_frequent", "constant"]


def numbers() -> pd.DataFrame:
    """Return a column of each sort: full, rounded, with a value that most rows share, and one."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(3, 7, (ROWS, 3)), columns=["a", "b", "c"])
    X["rounded"] = X["a"].round()
    X["mostly zero"] = np.where(np.arange(ROWS) % 5 == 0, X["a"], 0.0)
    X["int"] = rng.integers(-4, 9, ROWS)
    X.loc[5] = 0.0
    return X.assign(constant=0.5)


def holes() -> pd.DataFrame:
    """Return the same with missing values: many, many integers', and one in the last row."""
    X = numbers()
    X.loc[::3, "a"] = np.nan
    X.loc[::4, "int"] = np.nan
    X.loc[ROWS - 1, "c"] = np.nan
    return X


def around(X: pd.DataFrame) -> pd.DataFrame:
    """Return rows beyond those of the fit, and on either side of each edge between them."""
    near = [X + off for off in (0.0, 1e-8, -1e-8, 1e-6, -1e-6, 0.5)]
    return pd.concat([*near, X * 3, X * -2, X - 9], ignore_index=True)


def target(estimator: Any) -> np.ndarray | None:
    """Return what a transformer that learns from a target is given."""
    return np.arange(ROWS) % 4 if isinstance(estimator, SelectKBest) else None


STANDARD = [StandardScaler(with_mean=m, with_std=s) for m, s in product([True, False], repeat=2)]
RANGES = [MinMaxScaler(), MinMaxScaler((-2.5, 0.3), clip=True), MaxAbsScaler()]
ROBUST = [RobustScaler(), RobustScaler(quantile_range=(1.0, 99.0), unit_variance=True)]
QUANTILES = [
    QuantileTransformer(n_quantiles=9),
    QuantileTransformer(n_quantiles=100, output_distribution="normal"),
    QuantileTransformer(n_quantiles=10, subsample=ROWS, random_state=0),
]
KEEP_MISSING = [*STANDARD, *RANGES, *ROBUST, *QUANTILES]
VARIANCES = [VarianceThreshold(), VarianceThreshold(np.float64(2.0))]
IMPUTERS = [SimpleImputer(strategy=strategy, add_indicator=True) for strategy in STRATEGIES]
TAKE_MISSING = [*VARIANCES, *IMPUTERS]
OF_ROWS = [Normalizer("l1"), Normalizer(), Normalizer("max")]
PRODUCTS = [PolynomialFeatures(3), PolynomialFeatures(2, interaction_only=True, order="F")]
BINS = [
    KBinsDiscretizer(4),
    KBinsDiscretizer(3, encode="onehot-dense", quantile_method="hazen"),
    KBinsDiscretizer(5, strategy="uniform", encode="ordinal"),
]
BEST = [SelectKBest(f_classif, k=3), SelectKBest(f_regression, k=2)]
REFUSE_MISSING = [*OF_ROWS, *PRODUCTS, *BINS, *BEST]
CORE: list[Any] = [*KEEP_MISSING, *TAKE_MISSING, *REFUSE_MISSING]
"""A few of each class: on these everything is tried."""

MORE: list[Any] = [
    *(PolynomialFeatures(d, interaction_only=d == (3, 4)) for d in (0, 1, (2, 2), (2, 4), (3, 4))),
    PolynomialFeatures(2, include_bias=False),
    *(MinMaxScaler(r, clip=c) for r, c in [((-1, 1), False), ((0, 1), True), ((-2.5, 0.3), False)]),
    MaxAbsScaler(clip=True),
    *(RobustScaler(quantile_range=q) for q in [(10, 90), (0.0, 33.3), (50.0, 50.0), (0, 100)]),
    RobustScaler(unit_variance=True, quantile_range=(5.0, 80.0)),
    RobustScaler(with_centering=False, copy=False),
    RobustScaler(with_scaling=False),
    RobustScaler(with_centering=False, with_scaling=False),
    Normalizer(copy=False),
    *(
        QuantileTransformer(n_quantiles=n, output_distribution=shape)
        for n in (1, 2, 10, ROWS, 1000)
        for shape in ("uniform", "normal")
    ),
    QuantileTransformer(n_quantiles=10, subsample=None, copy=False),
    *(
        KBinsDiscretizer(4, encode=encode, strategy=strategy)
        for encode in ("onehot", "onehot-dense", "ordinal")
        for strategy in ("uniform", "quantile")
    ),
    *(KBinsDiscretizer(quantile_method=m, encode="ordinal") for m in ("linear", "hazen")),
    KBinsDiscretizer(2, encode="ordinal", strategy="uniform", dtype=np.float32),
    KBinsDiscretizer(64, encode="ordinal", dtype=np.float64),
    KBinsDiscretizer([2, 3, 4, 5, 6, 7, 8]),
    KBinsDiscretizer(np.array([9, 2, 9, 2, 9, 2, 9]), strategy="uniform"),
    KBinsDiscretizer(subsample=None),
    KBinsDiscretizer(subsample=ROWS, random_state=0),
    *(VarianceThreshold(threshold) for threshold in (0.0, 1e-9, 0.2, 20)),
    *(SelectKBest(score, k=k) for score in (f_classif, f_regression) for k in (0, 1, 6, 9, "all")),
    *(FunctionTransformer(func, feature_names_out="one-to-one") for func in (None, np.cbrt)),
    *(
        SimpleImputer(strategy=strategy, add_indicator=add, keep_empty_features=keep)
        for strategy, add, keep in product(STRATEGIES, [True, False], [True, False])
    ),
]
"""Other parameters, of which the values and what is handed over are compared."""


def words() -> pd.DataFrame:
    """Return columns of text with holes, and one of declared categories."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"few": rng.choice(["b", "a", "Zé", ""], ROWS, p=[0.5, 0.3, 0.15, 0.05])})
    X["many"] = [f"town {i:03}" for i in rng.zipf(1.5, ROWS) % 200]
    X = X.mask(rng.random(X.shape) < 0.2)
    return X.assign(declared=pd.Categorical(X["few"], ["x", "b", "Zé", "", "a"]))


DATES = pd.DataFrame({"t": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(ROWS), "h")})
OF_NUMBERS = [PowerTransformer(), FunctionTransformer(np.log1p)]
OF_WORDS = [OneHotEncoder(min_frequency=9), OneHotEncoder(drop="first"), OrdinalEncoder()]
CASES: dict[str, tuple[Any, pd.DataFrame, Any]] = {
    **{plain(e): (e, holes(), None) for e in [*KEEP_MISSING, *TAKE_MISSING, *OF_NUMBERS]},
    **{plain(e): (e, numbers(), target(e)) for e in REFUSE_MISSING},
    **{plain(e): (e, words(), None) for e in OF_WORDS},
    "targets": (TargetEncoder(shuffle=False), words(), np.arange(ROWS) % 2),
    "most frequent text": (SimpleImputer(strategy="most_frequent"), words(), None),
    "calendar": (CalendarFeatures(cyclical=True), DATES, None),
}
"""A transformer of each class, what it learns from, and its target."""
