from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from pipeline.errors import ConfigError
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import OURS_ALONE, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity, close, cut, sklearn_fit


def test_dropping_an_infrequent_category_is_refused(table: pd.DataFrame) -> None:
    text = OneHotEncoder(drop=["a"], max_categories=2)
    with pytest.raises(ConfigError, match=r"drop=\['a'\] names a category that is infrequent"):
        Program(text).fit(table[["c"]])
    number = OneHotEncoder(drop=[5], min_frequency=10_000)
    assert "because it is infrequent" in assert_both_refuse(number, table[["k"]])


@pytest.mark.parametrize(
    ("drop", "why"),
    [
        (["a", 0], "`drop` should have length equal"),
        (["unseen", 0, 1.5, True], "not found in the training data"),
        ("last", "The 'drop' parameter of OneHotEncoder must be"),
    ],
)
def test_drops_that_sklearn_refuses(drop: Any, why: str, table: pd.DataFrame) -> None:
    assert why in assert_both_refuse(OneHotEncoder(drop=drop), table)


@pytest.mark.parametrize("kind", OURS_ALONE)
@pytest.mark.parametrize("missing", [None, pd.NA, np.nan], ids=str)
def test_none_and_na_are_missing_in_lists_too(kind: str, missing: Any) -> None:
    X = frame(kind, OURS_ALONE)
    values = ["日本", "b", "a", "Zé", ""]
    reference = OneHotEncoder(categories=[[*values, np.nan]], min_frequency=20)
    program = Program(clone(reference).set_params(categories=[[*values, missing]]), "float64")
    nan_only = X.astype(object).where(X.notna(), np.nan)
    close(program.fit_transform(X), sklearn_fit(reference, nan_only)[1])
    assert program.to_sklearn().get_params()["categories"][0][-1] is missing


def test_all_columns_may_be_dropped(table: pd.DataFrame) -> None:
    program = assert_parity(OneHotEncoder(drop="first"), table[["c"]].assign(c="one"))
    assert program.width == 0


def test_names_of_grouped_columns(table: pd.DataFrame) -> None:
    estimator = OneHotEncoder(
        max_categories=2, feature_name_combiner=lambda feature, value: f"{feature}={value}"
    )
    names = assert_parity(estimator, table[["c"]]).to_sklearn().get_feature_names_out()
    assert names.tolist() == ["c=d", "c=infrequent_sklearn"]


def test_ones_are_where_the_categories_say(table: pd.DataFrame) -> None:
    program = Program(OneHotEncoder(), "float32")
    out = program.fit_transform(table)
    assert out.sum(axis=1).tolist() == [4.0] * len(table)
    assert program.to_sklearn().categories_[0].tolist()[:4] == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(out[:, 0] == 1, table["c"] == "a")
    np.testing.assert_array_equal(out[:, 4] == 1, table["c"].isna())


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
    cut(monkeypatch, 1, 1)
    program = Program(OneHotEncoder(handle_unknown="warn")).fit(table)
    later = new.assign(f=[1.5, 1.5, 1.5, 7, 7])
    found = caught(lambda: program.transform(pd.concat([later, later])))
    assert 1 <= len(found) <= 3
    assert any("in columns [0, 1, 2] during transform" in message for message in found)
