"""The classes of a target, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.backends.xgboost.training import check_labels, find_params
from pipeline.data.target import classes
from pipeline.errors import DataError

ROW = np.arange(300) % 3
TARGETS: dict[str, np.ndarray] = {
    "integers": ROW - 5,
    "small": ROW.astype("uint8"),
    "bools": ROW > 1,
    "floats": ROW / 2,
    "words": np.array(["no", "yes", "a"])[ROW],
    "objects": np.array(["no", "yes", "a"], dtype=object)[ROW],
    "dates": ROW.astype("datetime64[D]"),
    "a column": ROW[:, None],
}


@pytest.fixture
def sorted_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of values that NumPy is asked to sort."""
    sizes, unique = [], np.unique

    def counted(values: Any, *args: Any, **kwargs: Any) -> Any:
        sizes.append(np.size(values))
        return unique(values, *args, **kwargs)

    monkeypatch.setattr(np, "unique", counted)
    return sizes


@pytest.mark.parametrize("name", TARGETS)
def test_classes_are_those_of_numpy(name: str, sorted_sizes: list[int]) -> None:
    expected = np.unique(TARGETS[name])
    sorted_sizes.clear()
    found = classes(TARGETS[name])
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert sorted_sizes == [len(expected)], "all rows are sorted"


def test_classes_of_several_targets_are_apart() -> None:
    found = classes(np.stack([ROW, ROW // 2], axis=1))
    assert [each.tolist() for each in found] == [[0, 1, 2], [0, 1]]


def test_labels_of_boosted_trees_are_not_sorted_row_by_row(sorted_sizes: list[int]) -> None:
    check_labels(XGBClassifier(), ROW)
    assert find_params(XGBClassifier(), ROW)["num_class"] == 3
    with pytest.raises(DataError, match=r"y holds \[1, 2, 3\]"):
        check_labels(XGBClassifier(), ROW + 1)
    assert set(sorted_sizes) == {3}


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
def test_xgboost_alone_looks_for_the_classes(dtype: str, sorted_sizes: list[int]) -> None:
    y = (ROW > 1).astype(dtype)
    model = Accelerated(XGBClassifier(n_estimators=1), device="cpu")
    model.fit(np.arange(300.0)[:, None], y)
    assert sum(size == 300 for size in sorted_sizes) == 1
    plain = XGBClassifier(n_estimators=1).fit(np.arange(300.0)[:, None], y)
    assert model.classes_.dtype == plain.classes_.dtype
