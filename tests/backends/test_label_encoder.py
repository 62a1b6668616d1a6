from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import LabelEncoder

from pipeline import Accelerated
from pipeline.errors import DataError

LABELS = {
    "text": np.array(["b", "a", "c", "b"]),
    "objects": np.array(["b", "a", "c", "b"], dtype=object),
    "integers": np.array([7, -2, 7, 2**60]),
    "reals": np.array([0.5, 0.25, 0.5]),
    "booleans": np.array([True, False]),
    "one": np.array(["x"]),
}


@pytest.mark.parametrize("name", LABELS)
def test_equals_sklearn(name: str) -> None:
    y, reference = LABELS[name], LabelEncoder()
    expected = reference.fit_transform(y)
    model = Accelerated(LabelEncoder(), device="cpu")
    np.testing.assert_array_equal(model.fit_transform(y), expected)
    np.testing.assert_array_equal(model.transform(y[::-1]), reference.transform(y[::-1]))
    plain = model.to_sklearn()
    assert plain.classes_.dtype == reference.classes_.dtype
    np.testing.assert_array_equal(plain.classes_, reference.classes_)
    np.testing.assert_array_equal(plain.inverse_transform(expected), y)


def test_series_and_columns_are_labels_and_a_new_one_is_named() -> None:
    y = pd.Series(["b", "a"], dtype="str")
    model = Accelerated(LabelEncoder(), device="cpu").fit(y)
    assert model.transform(y.to_frame()).tolist() == [1, 0]
    with pytest.raises(ValueError, match="previously unseen labels: 'c'"):
        model.transform(["a", "c"])


def test_a_table_is_no_labels() -> None:
    with pytest.raises(DataError, match=r"y should be a 1d array(.|\n)*the shape \(1, 2\)"):
        Accelerated(LabelEncoder(), device="cpu").fit([["a", "b"]])
