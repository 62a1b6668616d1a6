from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from pipeline.preprocessing.engine import table as tables_module
from tests.preprocessing.parity import assert_both_refuse, assert_parity

FOLDS = KFold(4, shuffle=True, random_state=0)
LISTS = {
    "all": [["zz", "c", "a", "b", "d", np.nan], range(-2, 9), [-2.5, 0.0, 1.5, np.nan]],
    "some": [["d", "b"], [0, 3, 4], [1.5]],
    "none that occurs": [["x"], [77], [0.25]],
}


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(list("dbca"), 160), "k": rng.integers(0, 6, 160)})
    X["f"] = rng.choice([1.5, -2.5, np.nan], 160)
    X.loc[::8, "c"] = np.nan
    return X


@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize("smooth", ["auto", 0.0, 5.0])
@pytest.mark.parametrize("lists", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("rows", [7, 10_000])
def test_lists_of_categories(
    rows: int,
    lists: list[Any],
    smooth: Any,
    n_classes: int | None,
    table: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables_module, "CHUNK_ROWS", rows)
    y = np.random.default_rng(1).normal(5, 1, 160) + (table["c"] == "d")
    y = y.to_numpy() if n_classes is None else (y * 2).round().to_numpy().astype(int) % n_classes
    estimator = TargetEncoder(categories=lists, smooth=smooth, cv=FOLDS)
    assert_parity(estimator, table, y, new=table.assign(k=99))


def test_lists_that_sklearn_refuses(table: pd.DataFrame) -> None:
    estimator = TargetEncoder(categories=[["a", "a"]], cv=FOLDS)
    message = assert_both_refuse(estimator, table[["c"]], np.arange(160) / 7)
    assert message.startswith("TargetEncoder on the columns ['c']: ")
    assert "duplicate elements" in message
