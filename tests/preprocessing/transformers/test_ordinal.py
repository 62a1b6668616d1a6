from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OrdinalEncoder

from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import TEXT, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"handle_unknown": "use_encoded_value"}, "unknown_value should be an integer"),
        ({"unknown_value": 3}, "unknown_value should only be set when"),
        ({"handle_unknown": "use_encoded_value", "unknown_value": 1}, "already used"),
        ({"encoded_missing_value": 1}, "already used"),
        ({"dtype": np.int32}, "There are missing values"),
    ],
    ids=str,
)
def test_parameters_that_sklearn_refuses(
    params: dict[str, Any], why: str, table: pd.DataFrame
) -> None:
    message = assert_both_refuse(OrdinalEncoder(**params), table)
    assert message.startswith("OrdinalEncoder on the columns ['c', 'k', 'f', 'b']: ")
    assert why in message


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        ({"unknown_value": 0, "handle_unknown": "use_encoded_value"}, {"unknown_value": 2}),
        ({"encoded_missing_value": 0}, {"encoded_missing_value": 2}),
    ],
    ids=str,
)
def test_values_that_stand_for_a_group_are_taken(
    taken: dict[str, Any], free: dict[str, Any], table: pd.DataFrame
) -> None:
    estimator = OrdinalEncoder(max_categories=2, **taken)
    assert "already used" in assert_both_refuse(estimator, table)
    assert_parity(estimator.set_params(**free), table)


def test_numbers_follow_the_list(table: pd.DataFrame) -> None:
    listed = ["c", "d", "zz", "b", "a", np.nan]
    codes = Program(OrdinalEncoder(categories=[listed]), "float64").fit_transform(table[["c"]])
    expected = [listed.index(v) if isinstance(v, str) else np.nan for v in table["c"]]
    np.testing.assert_array_equal(codes[:, 0], expected)


@pytest.mark.parametrize("kind", TEXT)
def test_codes_follow_sorted_values(kind: str) -> None:
    X = frame(kind)
    codes = Program(OrdinalEncoder(), "float64").fit_transform(X)[:, 0]
    values = X[kind].astype(object).to_numpy()
    known = X[kind].notna().to_numpy()
    learnt = sorted(set(values[known]))
    assert [learnt[int(code)] for code in codes[known]] == values[known].tolist()
