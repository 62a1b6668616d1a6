"""LabelEncoder: labels live on the host, where the targets are, whatever the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pipeline.backends.base import Backend, Model, Placement
from pipeline.data import frames
from pipeline.data.target import encode_labels
from pipeline.errors import DataError
from pipeline.typing import Estimator, Table, Target


def validate_labels(y: Target) -> np.ndarray:
    """Return labels as a host array, shape (n_labels,).

    Raises
    ------
    DataError
        They are no column, there are none, or some are missing.
    """
    y = np.asarray(frames.to_device(y, "cpu"))
    y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1 or not len(y):
        raise DataError(f"labels are one column of values; these have the shape {y.shape}")
    missing = int(np.count_nonzero(pd.isna(y)))
    if missing:
        raise DataError(f"{missing} labels are missing; drop these rows")
    return y


class Labels(Model):
    """`LabelEncoder` by hashing: the classes are sorted, the rows are not."""

    def fit(self, X: Table, y: Target = None, **params: Any) -> None:
        """Learn the classes of the labels `X`."""
        self.fit_transform(X)

    def fit_transform(self, X: Table, y: Target = None, **params: Any) -> np.ndarray:
        """Learn the classes, and return the position of each label."""
        codes, self.native.classes_ = encode_labels(X)
        return codes.astype("int64", copy=False)

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return the positions of labels, or the labels at positions.

        Raises
        ------
        DataError
            A label was not there at fit.
        """
        if method != "transform":
            return super().call(method, X, **params)
        classes = self.native.classes_
        codes = pd.Index(classes, dtype=classes.dtype).get_indexer(pd.Index(X, dtype=X.dtype))
        if (codes < 0).any():
            first = int(np.argmax(codes < 0))
            raise DataError(f"the label {X.tolist()[first]!r} in row {first} was not there at fit")
        return codes


class LabelBackend(Backend):
    """Runs `LabelEncoder` on the host, whatever the device."""

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the encoder by hashing."""
        return Labels(estimator)

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs it."""
        return Placement(step, "pipeline.backends.label_encoder", "cpu", "labels live on the host")


LABEL_BACKEND = LabelBackend()
