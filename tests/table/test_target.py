"""The classes of a target, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import LabelEncoder

from pipeline.table.target import classes, encode_labels

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


@pytest.mark.parametrize("name", TARGETS)
def test_classes_are_those_of_numpy(name: str) -> None:
    expected = np.unique(TARGETS[name])
    found = classes(TARGETS[name])
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_classes_of_several_targets_are_apart() -> None:
    found = classes(np.stack([ROW, ROW // 2], axis=1))
    assert [each.tolist() for each in found] == [[0, 1, 2], [0, 1]]


def test_positions_of_labels_are_those_of_sklearn() -> None:
    for y in (ROW - 5, np.array(["b", "a", "b"]), np.array([True, False])):
        codes, labels = encode_labels(y)
        np.testing.assert_array_equal(codes, LabelEncoder().fit_transform(y))
        np.testing.assert_array_equal(labels, np.unique(y))
