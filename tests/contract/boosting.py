"""XGBoost as it reads cuDF: its own Python asks the stand-ins, its trees grow on the CPU.

It reads the frame that it is given. XGBoost 3.4 reads a copy, made because booleans have to become
integers, in which no column is a view; nothing promises that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBModel
from xgboost import data as xgboost_data

from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from tests.contract.tables import MEMORY


def cudf_cat_inf(cats: Any, codes: Any) -> tuple[Any, ...]:
    """Return categories and codes as XGBoost 3.4.1 does, and what of them it keeps.

    It asks for the type of categories as NumPy's, keeps no codes of text, and looks for the
    offsets of its names, which an empty column of libcudf has not.
    """
    numbers = np.issubdtype(cats.dtype, np.number)
    if not len(cats._host):
        raise IndexError("list index out of range")
    told = xgboost_data.cuda_array_interface_dict(codes)
    return cats._host, told, (cats, codes) if numbers else (cats,)


def read(X: Any) -> pd.DataFrame:
    """Return what lies at the addresses that XGBoost was given, once it has them all."""
    columns = [
        X[name].cat if str(kind) == "category" else X[name] for name, kind in X.dtypes.items()
    ]
    made = xgboost_data.CudfTransformed(columns, None)
    return pd.DataFrame(dict(zip(X.columns, map(_column, made.aitfs), strict=True)))


def _column(told: Any) -> Any:
    names, told = told if isinstance(told, tuple) else (None, told)
    values = MEMORY.held[told["data"][0]]
    mask = told.get("mask")
    valid = MEMORY.held[mask["data"][0]][: len(values)] if mask else np.full(len(values), True)
    if names is None:
        return np.where(valid, values, np.nan)
    return pd.Categorical.from_codes(np.where(valid, values, -1), names)


def _recoded(found: pd.DataFrame) -> pd.DataFrame:
    """Return what a GPU makes of missing categories that it looks up: an integer of NaN is 0."""
    return found.apply(lambda c: c.fillna(c.cat.categories[0]) if c.dtype == "category" else c)


def install(patch: pytest.MonkeyPatch) -> None:
    """Let XGBoost train on the stand-ins of cuDF until the patch is undone."""

    def matrix(*, data: Any, **options: Any) -> Any:
        return xgboost_data._from_pandas_df(data=read(data), **options)

    def batch(data: Any, names: Any, types: Any, categorical: bool) -> Any:
        found = read(data)
        if isinstance(types, xgboost_data.Categories):
            found = _recoded(found)
        return xgboost_data._transform_pandas_df(found, categorical, names, types)

    patch.setattr(xgboost_data, "cudf_cat_inf", cudf_cat_inf)
    patch.setattr(xgboost_data, "_from_cudf_df", matrix)
    patch.setattr(xgboost_data, "_transform_cudf_df", batch)
    patch.setattr(XGBModel, "_can_use_inplace_predict", lambda self: False)
    patch.setattr(XGBoostModel, "_check_device", lambda self, booster: None)
    patch.setattr(XGBoostModel, "_place_target", lambda self, X, y: y)
