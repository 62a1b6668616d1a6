"""Programs on partitions of a Dask frame, against the same program on one table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from pipeline.compile.program import Program
from pipeline.errors import DataError

dd = pytest.importorskip("dask.dataframe")

ROWS = 640
NUMBERS = ["a", "b"]
FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)
SPECS = {
    "numbers": make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
    "encoders": make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"), ["t"]),
        (OrdinalEncoder(), ["c"]),
        (TargetEncoder(cv=FOLDS), ["t"]),
    ),
    "union": make_union(
        StandardScaler(),
        KBinsDiscretizer(3, quantile_method="linear"),
        MinMaxScaler(),
        MaxAbsScaler(),
        RobustScaler(),
        QuantileTransformer(n_quantiles=50),
        make_pipeline(VarianceThreshold(0.5), PolynomialFeatures()),
        SimpleImputer(strategy="most_frequent", add_indicator=True),
    ),
    "categories": make_column_transformer(
        (OneHotEncoder(max_categories=4, drop="first"), ["t"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["t", "c"]),
        (OrdinalEncoder(max_categories=3), ["c", "t"]),
        (TargetEncoder(shuffle=False), ["t", "c"]),
    ),
}


def table(name: str = "encoders") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    row = np.arange(ROWS)
    X = pd.DataFrame(
        {
            "a": rng.normal(1e6, 1, ROWS),
            "b": rng.integers(0, 9, ROWS),
            "c": pd.Categorical(np.array(["x", "y", "z"])[row % 3]),
            "t": [f"key {number}" for number in np.minimum(rng.zipf(1.5, ROWS), 60)],
        }
    )
    if name != "union":
        X.loc[row % 7 == 0, "a"] = np.nan
    return X if name in ("encoders", "categories") else X[NUMBERS]


def target() -> np.ndarray:
    return (np.arange(ROWS) % 3 == 0).astype("int64")


@pytest.mark.quick(2)
@pytest.mark.parametrize("n_partitions", [1, 2, 7, 64])
@pytest.mark.parametrize("name", SPECS)
def test_partitions_do_not_matter(name: str, n_partitions: int) -> None:
    X = table(name)
    parts = dd.from_pandas(X, npartitions=n_partitions)
    one, many = (Program(SPECS[name], "float64") for _ in range(2))
    expected = one.fit_transform(X, target())
    found = many.fit_transform(parts, target())
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        many.transform(parts).compute(), one.transform(X), rtol=1e-12, atol=1e-9
    )
    np.testing.assert_allclose(many.transform(X), one.transform(X), rtol=1e-12, atol=1e-9)


def test_empty_partitions_are_passed_over() -> None:
    parts = dd.from_pandas(table(), npartitions=5)
    holey = parts[parts["a"] > 1e6]
    kept = holey.compute()
    y = target()[kept.index]
    parts = dd.concat([holey[holey["b"] < 0], holey])
    assert 0 in [len(part.compute()) for part in parts.to_delayed()]
    found = Program(SPECS["encoders"], "float64").fit_transform(parts, y)
    expected = Program(SPECS["encoders"], "float64").fit_transform(kept, y)
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-12, atol=1e-9)


def test_no_row_at_all_is_an_error() -> None:
    parts = dd.from_pandas(table("numbers"), npartitions=2)
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        Program(StandardScaler()).fit(parts[parts["b"] < 0])


def test_partitions_become_partitions_of_a_frame() -> None:
    estimator = make_column_transformer((StandardScaler(), NUMBERS), ("passthrough", ["c"]))
    estimator.set_output(transform="pandas")
    parts = dd.from_pandas(table(), npartitions=3)
    found = Program(estimator, "float64").fit_transform(parts)
    expected = Program(estimator, "float64").fit_transform(table())
    pd.testing.assert_frame_equal(found.compute(), expected)


def test_sparse_rows_reach_no_step_that_takes_none() -> None:
    steps = make_pipeline(OneHotEncoder(), StandardScaler())
    parts = dd.from_pandas(table()[["t"]], npartitions=2)
    with pytest.raises(DataError, match="StandardScaler does not support sparse rows"):
        Program(steps, why_dense="").fit(parts)
