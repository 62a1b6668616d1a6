"""`Accelerated`: a scikit-learn program, run on the device of choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pipeline import frames
from pipeline.devices import choose
from pipeline.errors import ConfigError, DataError
from pipeline.lowering import lower
from pipeline.residency import Ledger, ledger, record


def _spec_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.spec, name))


class Accelerated(BaseEstimator):
    """A scikit-learn spec, fitted and applied on a device.

    Parameters
    ----------
    spec : estimator
        A scikit-learn or XGBoost estimator, or a `Pipeline` of them. Cloned, never changed.
    device : {"auto", "cpu", "cuda"}, default="auto"
        ``"cuda"`` is strict: a step without an equivalent is an error. ``"auto"``
        takes the GPU where there is one and runs such steps on the host, visibly.
    dtype : {"float32", "float64"}, default="float32"
        Type of the matrix that preprocessing hands to the estimator. Statistics
        are float64 in any case.
    fallback : bool, optional
        Whether steps that the device cannot run may run on the host. By default
        only with ``device="auto"``.

    Attributes
    ----------
    device_ : str
        The device in use, and `device_why_` the reason.
    plan_ : Plan
        The lowered program; ``plan_.placements`` says where each step runs.
    residency_ : Ledger
        What ran where, how long, and which bytes moved: the last `fit`, then the
        last prediction.
    classes_ : numpy.ndarray
        The labels, for classifiers.
    n_features_in_ : int
    feature_names_in_ : numpy.ndarray of str
        Where the table has names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = Accelerated(LogisticRegression(), device="cpu").fit(X, y)
    >>> model.predict(X).tolist()
    [0, 0, 1, 1]
    >>> type(model.to_sklearn()).__name__
    'LogisticRegression'
    """

    def __init__(
        self,
        spec: BaseEstimator,
        device: str = "auto",
        *,
        dtype: str = "float32",
        fallback: bool | None = None,
    ) -> None:
        self.spec = spec
        self.device = device
        self.dtype = dtype
        self.fallback = fallback

    def fit(self, X: Any, y: Any = None, **params: Any) -> Accelerated:
        """Fit the spec.

        Parameters
        ----------
        X : pandas, cuDF, NumPy or CuPy table, or pyarrow.Table, (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        **params
            Passed to the `fit` of the last step.

        Raises
        ------
        Unsupported
            A step has no equivalent on the device; every reason is in the error.
        DeviceUnavailable
            ``device="cuda"`` and there is no usable GPU.
        DataError
            The table or the target cannot be used.
        """
        if self.dtype not in ("float32", "float64"):
            raise ConfigError(f"dtype={self.dtype!r} is not 'float32' or 'float64'")
        choice = choose(self.device)
        fallback = self.device == "auto" if self.fallback is None else self.fallback
        plan = lower(self.spec, choice.name, fallback=fallback, dtype=self.dtype)
        X = frames.ingest(X)
        y = check_target(y, X)
        with ledger() as book:
            plan.fit(self._bring(X, choice.name), y, **_of_last_step(self.spec, params))
        self.device_, self.device_why_ = choice.name, choice.why
        self.plan_, self._fit_ledger, self.residency_ = plan, book, book
        self._learn_schema(X, y)
        return self

    def _learn_schema(self, X: Any, y: Any) -> None:
        self.n_features_in_ = int(X.shape[1])
        self._names = list(X.columns) if frames.is_frame(X) else None
        if self._names and all(isinstance(name, str) for name in self._names):
            self.feature_names_in_ = np.array(self._names, dtype=object)
        elif "feature_names_in_" in vars(self):
            del self.feature_names_in_
        if is_classifier(self.spec) and y is not None:
            self.classes_ = np.unique(y)

    def _bring(self, X: Any, device: str) -> Any:
        if frames.device_of(X) == device:
            return X
        with record("input", "copy", device):
            return frames.to_device(X, device)

    def _call(self, method: str, X: Any) -> Any:
        check_is_fitted(self, "plan_")
        X = self._align(frames.ingest(X))
        with ledger() as book:
            result = self.plan_.call(method, self._bring(X, self.device_))
            if frames.device_of(result) != "cpu":
                with record("output", "copy", "cpu"):
                    result = frames.to_device(result, "cpu")
        self.residency_ = Ledger([*self._fit_ledger.entries, *book.entries])
        return result

    def _align(self, X: Any) -> Any:
        if self._names is not None:
            if not frames.is_frame(X):
                raise DataError(
                    "the model was fitted on a frame with column names and X has none; "
                    f"pass a frame with the columns {self._names}"
                )
            return frames.select(X, self._names)
        X = frames.matrix(X)
        if X.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {X.shape[1]} features, but Accelerated is expecting "
                f"{self.n_features_in_} features as input"
            )
        return X

    @_spec_has("predict")
    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels or values on the host, shape (n_rows,)."""
        return np.asarray(self._call("predict", X))

    @_spec_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities on the host, shape (n_rows, n_classes)."""
        return np.asarray(self._call("predict_proba", X))

    @_spec_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision values on the host."""
        return np.asarray(self._call("decision_function", X))

    @_spec_has("transform")
    def transform(self, X: Any) -> Any:
        """Return the transformed table on the host, shape (n_rows, n_outputs)."""
        return self._call("transform", X)

    @_spec_has("predict")
    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy of a classifier, or R² of a regressor."""
        measure = accuracy_score if is_classifier(self.spec) else r2_score
        return float(measure(np.asarray(frames.to_device(y, "cpu")), self.predict(X)))

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn or XGBoost estimator; it needs no GPU and not us."""
        check_is_fitted(self, "plan_")
        return self.plan_.to_sklearn()

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the spec; sparse tables are refused at the door."""
        tags = get_tags(self.spec)
        tags.input_tags.sparse = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has been called."""
        return hasattr(self, "plan_")


def _of_last_step(spec: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Accept scikit-learn's ``step__name`` beside the bare name."""
    prefix = f"{spec.steps[-1][0]}__" if isinstance(spec, Pipeline) else ""
    return {name.removeprefix(prefix): value for name, value in params.items()}


def check_target(y: Any, X: Any) -> Any:
    """Return the target as a host array.

    Raises
    ------
    DataError
        Its length or index differs from the table's, or it has missing values.
    """
    if y is None:
        return None
    if not _aligned(X, y):
        raise DataError("the index of y differs from that of X: rows would not match; align y")
    y = np.asarray(frames.to_device(y, "cpu"))
    if len(y) != X.shape[0]:
        raise DataError(f"y has {len(y)} values and X has {X.shape[0]} rows")
    missing = int(pd.isna(y).sum())
    if missing:
        raise DataError(f"y has {missing} missing values; drop these rows")
    return y


def _aligned(X: Any, y: Any) -> bool:
    """Return whether rows match as far as labels can tell; a list has a method `index`."""
    if not frames.is_frame(X) or callable(getattr(y, "index", None)):
        return True
    return len(y) != len(X) or not hasattr(y, "index") or bool(X.index.equals(y.index))
