from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from pipeline.errors import ConfigError, DataError
from pipeline.table import output
from tests.twins.columns import CATEGORICAL, OURS_ALONE, frame

EVERY = CATEGORICAL | OURS_ALONE
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("kind", ["str", "object", "string", "str, missing"])
def test_categorize_makes_text_categorical(kind: str) -> None:
    X = frame(kind, EVERY).assign(n=1.0)
    found = output.categorize(X)
    assert str(found[kind].dtype) == "category"
    assert found["n"].dtype == "float64"
    assert str(X[kind].dtype) != "category"


def test_columns_beside_a_matrix_keep_their_type() -> None:
    X = pd.DataFrame({"t": ["a", "b"], "i": [2**60, 1]}, index=[7, 9])
    found = output.beside([(MATRIX, ["x", "y"])], X, {"words": "t", "big": "i"})
    assert found.columns.tolist() == ["x", "y", "words", "big"]
    assert found.index.tolist() == [7, 9]
    assert found["big"].tolist() == [2**60, 1]
    assert found["words"].dtype == X["t"].dtype


@pytest.mark.parametrize("X", [np.array([[1.0, np.inf]]), pd.DataFrame({"t": ["a"], 1: [np.inf]})])
def test_infinite_numbers_are_refused_and_text_is_not_asked(X: Any) -> None:
    with pytest.raises(DataError, match="column 1 holds infinite values"):
        output.check_finite(X)
    output.check_finite(X.iloc[:, :1] if isinstance(X, pd.DataFrame) else X[:, :1])


def test_containers_of_a_matrix() -> None:
    assert output.contained(MATRIX, "default", [], None) is MATRIX
    found = output.contained(MATRIX, "pandas", ["x", "y"], pd.Index([7, 9]))
    assert found.loc[9, "y"] == 4.0
    assert output.contained(found, "pandas", [], None) is found


def test_sparse_rows_have_no_frame() -> None:
    with pytest.raises(
        ConfigError, match=r"set_output\(transform='pandas'\): the output is sparse"
    ):
        output.contained(csr_matrix(MATRIX), "pandas", ["x", "y"], None)


class Column:
    """A column of cuDF: from where on it reads its buffers."""

    def __init__(self, offset: int) -> None:
        self.at = offset

    def to_pylibcudf(self) -> tuple[Column, dict[str, str]]:
        return self, {}

    def offset(self) -> int:
        return self.at

    def copy(self) -> Column:
        return Column(0)


class Frame(dict[str, Column]):
    """A frame of cuDF."""

    __module__ = "cudf.core.dataframe"

    @property
    def columns(self) -> list[str]:
        return list(self)

    def copy(self, deep: bool = True) -> Frame:
        assert not deep
        return Frame(self)


def test_only_columns_that_are_views_are_copied() -> None:
    given = Frame(whole=Column(0), view=Column(9))
    made = output.own_rows(given)
    assert {name: made[name] is given[name] for name in given} == {"whole": True, "view": False}
    assert (made["view"].at, given["view"].at) == (0, 9)
    assert output.own_rows(made) is made
