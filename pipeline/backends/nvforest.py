"""Predictions of tree ensembles by nvForest, RAPIDS' library for them, where it is asked for.

nvForest takes the trained trees, of XGBoost or scikit-learn, through treelite. It answers on a
GPU and on the CPU. What it says of the first rows is held to what the estimator itself says.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pipeline.backends.base import Model, reads_float32
from pipeline.data import frames
from pipeline.data.dense import densifying
from pipeline.errors import ParityError, Reason, Unsupported
from pipeline.optional import available, load
from pipeline.typing import Estimator, Table

METHODS = ("predict", "predict_proba")
BOOSTED = ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
GROWN = (
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
)
ROWS = 256
"""Of the first batch, which both answer."""
RTOL = 1e-5
DIFFERING = 0.01
"""Share of these rows that may differ: a number that rounds to the other side of a threshold."""
_DEVICES = {"cpu": "cpu", "cuda": "gpu"}


class Forest(Model):
    """A fitted tree ensemble whose predictions nvForest makes.

    Parameters
    ----------
    fitted : estimator
        Of XGBoost or scikit-learn.
    step : str
        Path of the step, for messages.
    device : {"cpu", "cuda"}

    Raises
    ------
    Unsupported
        It is no tree ensemble, or not one that treelite reads.
    """

    def __init__(self, fitted: Estimator, step: str, device: str) -> None:
        super().__init__(fitted, fitted)
        self.step = step
        self.compared = False
        self.forest = _forest(fitted, step, _DEVICES[device])

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return what nvForest answers: labels or values, or probabilities of all classes.

        Raises
        ------
        Unsupported
            nvForest has no such method, or takes no such keywords.
        ParityError
            It does not answer as the estimator does.
        """
        if method not in METHODS or params:
            why = f"nvForest has no {method}({', '.join(params)})"
            raise Unsupported(Reason(self.step, why, "use forests='own'"))
        X = self._expand(X) if frames.is_sparse(X) else frames.matrix(X)
        answers = self._answer(method, X)
        if not self.compared:
            self._compare(method, X[:ROWS], answers[:ROWS])
        return answers

    def _expand(self, X: Table) -> Any:
        """Return sparse rows as a matrix: what is absent is missing to XGBoost's trees alone."""
        absent = np.nan if type(self.estimator).__name__ in BOOSTED else 0
        with densifying(X.shape, X.dtype, frames.device_of(X), self.step, "nvForest reads no CSR"):
            cells, made = X.tocoo(), frames.xp(X).full(X.shape, absent, X.dtype)
            made[cells.row, cells.col] = cells.data
        return made

    def _answer(self, method: str, X: Table) -> Any:
        xp = frames.xp(X)
        # As the estimator reads it: near a threshold another type goes the other way.
        X = X.astype("float32" if reads_float32(self.estimator) else "float64", copy=False)
        classes = getattr(self.native, "classes_", None)
        if classes is None:
            return self.forest.predict(X).reshape(-1)
        probabilities = self.forest.predict_proba(X)
        # Boosted trees give that of the second class.
        if probabilities.ndim == 1 or probabilities.shape[1] == 1:
            second = probabilities.reshape(-1)
            probabilities = xp.stack([1 - second, second], axis=1)
        if method == "predict_proba":
            return probabilities
        return np.asarray(classes)[frames.to_device(probabilities.argmax(axis=1), "cpu")]

    def _compare(self, method: str, X: Table, answers: Any) -> None:
        wanted = getattr(self.native, method)(frames.to_device(X, "cpu"))
        answers = frames.to_device(answers, "cpu")
        if answers.dtype.kind in "fc":
            same = np.isclose(answers, wanted, rtol=RTOL, atol=RTOL)
        else:
            same = np.asarray(answers == wanted)
        rows = same.reshape(len(answers), -1).all(axis=1)
        if (~rows).mean() > DIFFERING:
            raise ParityError(
                f"{self.step}: nvForest answers otherwise than the estimator in "
                f"{int((~rows).sum())} of {len(rows)} rows, first in row {int((~rows).argmax())}; "
                "use forests='own'"
            )
        self.compared = True


def _forest(fitted: Estimator, step: str, device: str) -> Any:
    name = type(fitted).__name__
    if name not in BOOSTED + GROWN:
        why = f"nvForest takes tree ensembles, and this is {name}"
        raise Unsupported(Reason(step, why, "use forests='own'"))
    if not available("nvforest"):
        why = "nvForest is not installed; RAPIDS brings it"
        raise Unsupported(Reason(step, why, "`make setup GPU=cu13`, or forests='own'"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # treelite warns of its own other version
        try:
            if name in GROWN:
                return load("nvforest.load_from_sklearn")(fitted, device=device)
            trees = load("treelite.frontend.from_xgboost")(fitted.get_booster())
            return load("nvforest.load_from_treelite_model")(trees, device=device)
        except Exception as error:  # treelite's own is no more than that
            line = str(error).strip().partition("\n")[0]
            raise Unsupported(Reason(step, f"nvForest: {line}", "use forests='own'")) from error
