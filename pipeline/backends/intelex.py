"""On x86-64: the twins of scikit-learn-intelex, where it is installed and parity was measured.

They take scikit-learn's parameters and are handed back as scikit-learn's own classes. What they
would leave to scikit-learn anyway, by a parameter or by the data, is not given to them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from pipeline.backends import cpu, parity
from pipeline.backends.base import Model, Placement
from pipeline.backends.cuml.tables import public_name
from pipeline.backends.x86 import TWINS, Twin
from pipeline.data import frames
from pipeline.errors import Reason, Unsupported
from pipeline.optional import available, load
from pipeline.typing import Estimator, Params, Table, Target

PACKAGE = "scikit-learn-intelex"
MODULE = "sklearnex"
BLOCK = 2**14
NOTHING = 1e-10
"""A smallest eigenvalue of correlations, a column, that is none but for rounding."""


def twin(estimator: Estimator) -> Twin | None:
    """Return the twin that runs an estimator here, if there is one.

    None where the package is not installed or is another release than the one measured, where the
    measured difference is beyond the tolerance or the time no shorter, and for parameters with
    which the two are not the same algorithm.
    """
    name = public_name(estimator)
    if name not in TWINS or not (installed() and holds(name)):
        return None
    found = TWINS[name]
    same = all(honoured(getattr(estimator, param)) for param, honoured in found.only.items())
    return found if same else None


def installed() -> bool:
    """Return whether the release of the package that was measured is installed."""
    if not available(MODULE):
        return False
    release = parity.load().version.split(".")[:2]
    return metadata.version(PACKAGE).split(".")[:2] == release


def holds(name: str) -> bool:
    """Return whether an estimator was measured to be within its tolerance, and faster."""
    difference = parity.load().difference(name)
    within = difference is not None and difference <= TWINS[name].tolerance
    return within and parity.load().faster(name)


def place(estimator: Estimator, step: str, dtype: str = "float32") -> Model:
    """Return the twin of an estimator, or the estimator itself, on the CPU."""
    found = twin(estimator)
    return Intelex(estimator, found, step) if found else cpu.place(estimator, step, dtype)


def describe(estimator: Estimator, step: str) -> Placement:
    """Return what runs an estimator, and how near it comes to scikit-learn."""
    found = twin(estimator)
    if not found:
        return cpu.describe(estimator, step)
    difference = parity.load().difference(public_name(estimator)) or 0.0
    lacks = f"; without {', '.join(found.lacks)}" if found.lacks else ""
    note = (
        f"within {found.tolerance:g} of scikit-learn's ({difference:.1g} "
        f"{parity.load().source}){lacks}; scikit-learn itself for {' and '.join(_left(found))}; "
        "intelex=False switches it off"
    )
    return Placement(step, _path(estimator), "cpu", note)


def _left(found: Twin) -> list[str]:
    narrow = [f"tables of fewer than {found.wide} columns"] if found.wide else []
    dependent = ["columns that depend on each other"] if found.independent else []
    return ["sparse rows", "weights", "several targets", *narrow, *dependent]


def dependent(X: Table, *, centred: bool) -> bool:
    """Return whether some column follows from others, or from a constant if `centred`.

    >>> X = np.array([[1, 0, 3.0], [0, 1, 4.0], [1, 0, 5.0], [0, 1, 7.0]])
    >>> dependent(X, centred=True), dependent(X, centred=False)
    (True, False)
    """
    X = np.asarray(X)
    start = X[0].astype("float64") if centred else 0.0
    sums, products = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    for first in range(0, len(X), BLOCK):
        block = X[first : first + BLOCK].astype("float64") - start
        sums, products = sums + block.sum(axis=0), products + block.T @ block
    if centred:
        products -= np.outer(sums, sums) / len(X)
    lengths = np.sqrt(np.diag(products))
    if not np.isfinite(products).all():
        return False  # scikit-learn has words for that.
    if len(X) <= X.shape[1] or not lengths.all():
        return True
    least = np.linalg.eigvalsh(products / np.outer(lengths, lengths))[0]
    return bool(least < X.shape[1] * NOTHING)


def _in_main_thread() -> bool:
    # The package promises nothing for other threads, and warns in each call.
    return threading.current_thread() is threading.main_thread()


def _path(estimator: Estimator) -> str:
    return public_name(estimator).replace("sklearn", MODULE, 1)


class Intelex(Model):
    """A twin of scikit-learn-intelex, and the scikit-learn estimator with what it learnt.

    Parameters
    ----------
    estimator : estimator
    found : Twin
    step : str
        Path of the step, for messages.
    """

    def __init__(self, estimator: BaseEstimator, found: Twin, step: str) -> None:
        super().__init__(
            estimator, load(_path(estimator))(**clone(estimator).get_params(deep=False))
        )
        self.twin, self.step = found, step
        self.lifted: Any = None

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit on rows of the host.

        Raises
        ------
        Unsupported
            The twin would leave such data to scikit-learn.
        """
        X = frames.to_device(X, "cpu")
        if found := [*self._left_to_scikit_learn(X, y, params)]:
            raise Unsupported(*found)
        self.native.fit(X, y)
        self.lifted = self._lift(X, y)

    def fit_transform(self, X: Table, y: Target) -> Any:
        """Fit, and return the transformed training rows."""
        self.fit(X, y)
        return self.lifted.transform(frames.to_device(X, "cpu"))

    def fit_predict(self, X: Table, y: Target) -> Any:
        """Fit, and return the labels of the training rows."""
        self.fit(X, y)
        return self.lifted.labels_

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return what the twin answers where it is the faster, else scikit-learn's class."""
        quick = self.twin and method in self.twin.answers and not params and _in_main_thread()
        return getattr(self.native if quick else self.lifted, method)(X, **params)

    def to_sklearn(self) -> Any:
        """Return scikit-learn's estimator with the fitted attributes."""
        return self.lifted

    def __getstate__(self) -> dict[str, Any]:
        """Leave the twin behind: where the model is loaded, the package may be missing."""
        return {**vars(self), "estimator": None, "twin": None}

    def _lift(self, X: Table, y: Target) -> Any:
        lifted = clone(self.estimator)
        if self.twin.refit:
            return lifted.fit(X, y)
        names = {"n_features_in_": "", "feature_names_in_": "", **self.twin.attributes}
        for name, dtype in names.items():
            if hasattr(self.native, name):
                value = getattr(self.native, name)
                setattr(lifted, name, np.ascontiguousarray(value, dtype) if dtype else value)
        vars(lifted).update(self.twin.constants)
        self.twin.complete(lifted)
        return lifted

    def _left_to_scikit_learn(self, X: Table, y: Target, params: Params) -> Iterator[Reason]:
        taken = {
            "sparse rows": frames.is_sparse(X),
            "weights": any(value is not None for value in params.values()),
            "several targets": np.ndim(y) > 1 and np.shape(y)[1] > 1,
            "threads beside the main one": not _in_main_thread(),
            "columns that depend on each other": self.twin.independent
            and not frames.is_sparse(X)
            and dependent(X, centred=self.estimator.fit_intercept),
            f"fewer than {self.twin.wide} columns": np.shape(X)[1] < self.twin.wide
            and self.estimator.algorithm == "auto",
        }
        for what, given in taken.items():
            if given:
                why = f"{PACKAGE} leaves {what} to scikit-learn"
                yield Reason(self.step, why, "nothing is to be done")
