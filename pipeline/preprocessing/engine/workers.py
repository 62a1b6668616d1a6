"""What runs a transformer that no twin does: on all rows of a table at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from pipeline.data import convert, frames
from pipeline.trace import record
from pipeline.typing import Estimator, Params, Table, Target


class Worker(Protocol):
    """An estimator on a device, as `pipeline.backends.base.Model` is one."""

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows, where X is."""

    def call(self, method: str, X: Table) -> Any:
        """Return what a method, `transform`, makes of rows, where X is."""

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn transformer."""

    def resume(self, fitted: Estimator) -> None:
        """Take the fitted scikit-learn transformer of a saved model."""


class HostWorker:
    """scikit-learn's own transformer, or any with `fit` and `transform`, on the host.

    Rows of a GPU are brought to it, and what it makes of them is brought back.

    Parameters
    ----------
    estimator : transformer
        Unfitted; it is not changed.
    path : str
        Of the transformer in the whole estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> HostWorker(PCA(1), "pca").fit_transform(np.eye(3), None).shape
    (3, 1)
    """

    def __init__(self, estimator: Estimator, path: str) -> None:
        self.estimator, self.path = estimator, path
        self.native = clone(estimator, safe=False)

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows."""
        return self._at_home(self._learn, X, y=y, params=params)

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit, and transform no row."""
        self.native.fit(convert.as_passed(self._move(X, "cpu")), y, **params)

    def _learn(self, X: Table, y: Target, params: Params) -> Any:
        if hasattr(self.native, "fit_transform"):
            return self.native.fit_transform(X, y, **params)
        return self.native.fit(X, y, **params).transform(X)

    def call(self, method: str, X: Table) -> Any:
        """Return what a method makes of rows."""
        return self._at_home(getattr(self.native, method), X)

    def _at_home(self, work: Callable[..., Any], X: Table, **params: Any) -> Any:
        made = work(convert.as_passed(self._move(X, "cpu")), **params)
        if (device := frames.device_of(X)) == "cpu":
            return made
        if frames.is_sparse(made):
            return self._move(_as_on_gpu(made), device)
        matrix = np.asarray(made)
        return self._move(matrix, device) if matrix.dtype.kind in "iufb" else matrix

    def _move(self, X: Table, device: str) -> Any:
        if frames.device_of(X) == device:
            return X
        with record(self.path, "copy", device, "no twin runs it"):
            return frames.to_device(X, device)

    def to_sklearn(self) -> Any:
        """Return the fitted transformer."""
        return self.native

    def resume(self, fitted: Estimator) -> None:
        """Take a fitted transformer."""
        self.native = fitted


def _as_on_gpu(rows: Any) -> Any:
    """Return sparse rows as a GPU has them: of floats, each cell once and in order."""
    rows = rows.tocsr().astype(np.result_type(rows.dtype, "float32"))
    rows.sum_duplicates()
    return rows
