"""What is special to the scalers; what all transformers share is in `test_parity`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from pipeline import Accelerated
from pipeline.compile.program import Program
from pipeline.errors import DataError
from pipeline.system import threads
from tests.twins.cases import numbers
from tests.twins.parity import assert_parity


def test_large_offset_keeps_the_digits_of_the_variance() -> None:
    X = numbers()[["a", "int"]] + 1e9
    program = Program(StandardScaler(), "float64")
    # One unit in the last place of 1e9 is 1.2e-7.
    theirs = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(program.fit_transform(X), theirs, rtol=1e-6, atol=1.2e-7)
    exact = np.sqrt((X - 1e9).var(ddof=0))
    np.testing.assert_allclose(program.to_sklearn().scale_, exact, rtol=1e-12)


def test_near_constant_columns_are_constant_where_sklearn_says_so() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "rounding of 1e9": 1e9 + rng.normal(size=200) * 1e-8,
            "rounding of 0.1": np.where(rng.random(200) < 0.5, 0.1, np.nextafter(0.1, 1)),
            "last place of 1e16": np.r_[np.full(199, 1e16), 1e16 + 2],
            "small but real": 1 + np.r_[np.full(199, 0.0), 1e-9],
        }
    )
    program = assert_parity(StandardScaler(), X)
    assert program.to_sklearn().scale_.tolist()[:3] == [1.0, 1.0, 1.0]
    assert program.to_sklearn().scale_[3] < 1e-9


def test_columns_without_values_have_no_quantiles() -> None:
    with pytest.raises(DataError, match=r"RobustScaler: the columns \['a'\] hold no values"):
        Program(RobustScaler()).fit(numbers().assign(a=np.nan))


_rng = np.random.default_rng(3)
_ROWS = _rng.normal(20, 7, (1501, 6))
_GAPS = np.where(_rng.random(_ROWS.shape) < 0.1, np.nan, _ROWS)
LAID = {
    "by row": _ROWS,
    "by column": np.asfortranarray(_ROWS),
    "a wide table": _rng.normal(3, 2, (4000, 40)),
    "a part of an array": _rng.normal(5, 2, (3000, 12))[::2, 3:9],
    "with gaps": _GAPS,
    "float32": _ROWS.astype("float32"),
    "integers": (9 * _ROWS).astype("int64"),
    "a frame by column": pd.DataFrame(np.asfortranarray(_GAPS)),
    "a frame by row": pd.DataFrame(_ROWS.T.copy()).T,
    "a frame of types": pd.DataFrame(_ROWS).add_prefix("x").assign(n=range(1501)),
}


@pytest.mark.parametrize("name", LAID)
@pytest.mark.parametrize("fills", [False, True])
def test_small_and_wide_tables_are_scaled_bit_for_bit_as_by_sklearn(name: str, fills: bool) -> None:
    X = LAID[name]
    before = X.copy()
    scaler = StandardScaler()
    estimator = make_pipeline(SimpleImputer(), scaler) if fills and name != "float32" else scaler
    found, theirs = Accelerated(estimator, device="cpu").fit(X), estimator.fit(X)
    wanted = theirs[-1] if estimator is not scaler else theirs
    ours = found.to_sklearn()[-1] if estimator is not scaler else found
    for each in ("mean_", "var_", "scale_"):
        np.testing.assert_array_equal(getattr(ours, each), getattr(wanted, each))
    np.testing.assert_array_equal(found.transform(X), theirs.transform(X))
    np.testing.assert_array_equal(np.asarray(X), np.asarray(before))


def test_quantiles_of_many_columns_are_found_once_and_without_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).normal(size=(100, 700))
    theirs, original, calls = RobustScaler().fit(X), np.nanpercentile, []
    monkeypatch.setattr(np, "nanpercentile", lambda *a: calls.append(a) or original(*a))
    monkeypatch.setattr(threads, "each", None)
    fitted = Program(RobustScaler()).fit(X).to_sklearn()
    np.testing.assert_array_equal(fitted.scale_, theirs.scale_)
    assert (fitted.n_features_in_, len(calls)) == (700, 1)
