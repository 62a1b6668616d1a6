from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from pipeline.preprocessing.engine import table as tables_module
from pipeline.preprocessing.engine.program import Program


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(list("dbca"), 160), "k": rng.integers(0, 6, 160)})
    X["f"] = rng.choice([1.5, -2.5, np.nan], 160)
    return X.assign(b=rng.random(160) < 0.5)


@pytest.fixture
def new(table: pd.DataFrame) -> pd.DataFrame:
    return table[:5].assign(
        c=["a", "unseen", np.nan, "b", "c"], k=[0, 99, 1, 2, 3], f=[1.5, 7, np.nan, -2.5, 1.5]
    )


def caught(call: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in seen]


@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize("group", [{}, {"max_categories": 2}], ids=str)
@pytest.mark.parametrize("unknown", ["ignore", "infrequent_if_exist", "warn"])
def test_warns_like_sklearn(
    unknown: str, group: dict[str, Any], drop: str | None, table: pd.DataFrame, new: pd.DataFrame
) -> None:
    estimator = OneHotEncoder(drop=drop, handle_unknown=unknown, **group)
    program, reference = Program(estimator).fit(table), clone(estimator).fit(table)
    expected = caught(lambda: reference.transform(new))
    assert caught(lambda: program.transform(new)) == expected
    assert caught(lambda: program.transform(new.copy())) == expected
    assert caught(lambda: program.transform(table)) == []
    assert bool(expected) == (unknown == "warn" or drop is not None)


def test_warning_names_the_columns_found_so_far(
    table: pd.DataFrame, new: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables_module, "CHUNK_ROWS", 1)
    program = Program(OneHotEncoder(handle_unknown="warn")).fit(table)
    later = new.assign(f=[1.5, 1.5, 1.5, 7, 7])
    found = caught(lambda: program.transform(pd.concat([later, later])))
    assert 1 <= len(found) <= 3
    assert any("in columns [0, 1, 2] during transform" in message for message in found)
