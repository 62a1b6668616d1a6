"""`Accelerated`: a scikit-learn program, run on the device of choice."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pipeline import frames, intake
from pipeline.containers import CONTAINERS, contained, container
from pipeline.devices import choose
from pipeline.errors import ConfigError
from pipeline.lowering import is_transformer, lower
from pipeline.plan import Plan
from pipeline.residency import Ledger, ledger, record


def _spec_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.spec, name))


_learns_in_batches = available_if(
    lambda self: hasattr(self.spec, "partial_fit") or is_transformer(self.spec)
)


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
    rank_error : float, default=0.0
        Largest error of medians and quantiles in rank, as a share of the rows. 0 is
        exact and keeps the columns in memory while they are learnt from; more needs
        a few kB a column, whatever the number of rows.

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
        rank_error: float = 0.0,
    ) -> None:
        self.spec = spec
        self.device = device
        self.dtype = dtype
        self.fallback = fallback
        self.rank_error = rank_error

    def fit(self, X: Any, y: Any = None, **params: Any) -> Accelerated:
        """Fit the spec.

        Parameters
        ----------
        X : table or sequence of str, shape (n_rows, n_columns) or (n_texts,)
            pandas, Polars, Arrow, cuDF, NumPy or CuPy; for a transformer also Dask or
            dask-cuDF; texts where the first step reads text.
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
        self._learn(X, y, lambda plan, X, y: plan.fit(X, y, **_of_last_step(self.spec, params)))
        return self

    @_spec_has("transform")
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return what becomes of the training rows on the host, as `transform` does.

        A `TargetEncoder` encodes each of them by the other folds.
        """
        taken, made = self._learn(X, y, Plan.fit_transform)
        return self._contained(self._on_host(made), taken)

    @_learns_in_batches
    def partial_fit(self, X: Any, y: Any = None, **params: Any) -> Accelerated:
        """Learn from more rows.

        For estimators that have the method in scikit-learn, and for transformers of which each
        column passes through one step only. All batches together give what `fit` gives.

        Raises
        ------
        Unsupported
            A step needs all rows, or what another one makes of them.
        """
        if not hasattr(self, "plan_"):
            self._learn(X, y, lambda plan, X, y: plan.partial_fit(X, y, **params))
            return self
        X = self._intake.take(X)
        with ledger() as book:
            self.plan_.partial_fit(
                self._bring(X, self.plan_.entrance), intake.check_target(y, X), **params
            )
        self._fit_ledger = self.residency_ = book
        return self

    def _learn(self, X: Any, y: Any, how: Any) -> tuple[Any, Any]:
        """Lower the spec and run `how` on the plan and the rows; keep it all if that succeeds."""
        if self.dtype not in ("float32", "float64"):
            raise ConfigError(f"dtype={self.dtype!r} is not 'float32' or 'float64'")
        if not 0 <= self.rank_error < 0.5:
            raise ConfigError(f"rank_error={self.rank_error!r} is not a number from 0 to 0.5")
        choice = choose(self.device)
        fallback = self.device == "auto" if self.fallback is None else self.fallback
        plan = lower(
            self.spec,
            choice.name,
            fallback=fallback,
            dtype=self.dtype,
            rank_error=self.rank_error,
        )
        takes, X = intake.learn(self.spec, X)
        if not is_transformer(self.spec):
            intake.whole(X, type(self.spec).__name__)
        y = intake.check_target(y, X)
        with ledger() as book:
            made = how(plan, self._bring(X, plan.entrance), y)
        self.device_, self.device_why_ = choice.name, choice.why
        self.plan_, self._fit_ledger, self.residency_ = plan, book, book
        self._intake: intake.Intake = takes
        self._set_attributes(y)
        return X, made

    def _set_attributes(self, y: Any) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if name in vars(self):
                delattr(self, name)
        names = self._intake.names
        if self._intake.n_features is not None:
            self.n_features_in_ = self._intake.n_features
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        if is_classifier(self.spec) and y is not None:
            self.classes_ = np.unique(y)

    def _bring(self, X: Any, device: str) -> Any:
        if frames.device_of(X) == device:
            return X
        with record("input", "copy", device):
            return frames.to_device(X, device)

    def _call(self, method: str, X: Any) -> tuple[Any, Any]:
        """Return the rows as they were taken, and the result on the host."""
        check_is_fitted(self, "plan_")
        X = self._intake.take(X)
        with ledger() as book:
            result = self._on_host(self.plan_.call(method, self._bring(X, self.plan_.entrance)))
        self.residency_ = Ledger([*self._fit_ledger.entries, *book.entries])
        return X, result

    def _on_host(self, result: Any) -> Any:
        if frames.device_of(result) == "cpu" or frames.is_partitioned(result):
            return result
        with record("output", "copy", "cpu"):
            return frames.to_device(result, "cpu")

    @_spec_has("predict")
    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels or values on the host, shape (n_rows,)."""
        return np.asarray(self._call("predict", X)[1])

    @_spec_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities on the host, shape (n_rows, n_classes)."""
        return np.asarray(self._call("predict_proba", X)[1])

    @_spec_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision values on the host."""
        return np.asarray(self._call("decision_function", X)[1])

    @_spec_has("transform")
    def transform(self, X: Any) -> Any:
        """Return the transformed table on the host, shape (n_rows, n_outputs).

        A frame where `set_output` asks for one; of partitions, a Dask array or frame.
        """
        taken, made = self._call("transform", X)
        return self._contained(made, taken)

    def _contained(self, made: Any, taken: Any) -> Any:
        how = container(self) if container(self) != "default" else container(self.spec)
        if how == "default" or frames.is_partitioned(made):
            return made
        return contained(made, how, self.get_feature_names_out(), getattr(taken, "index", None))

    @_spec_has("transform")
    def set_output(self, *, transform: str | None = None) -> Accelerated:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            None leaves the choice as it is.
        """
        if transform is not None:
            if transform not in CONTAINERS:
                raise ConfigError(f"transform={transform!r} is not one of {', '.join(CONTAINERS)}")
            self._sklearn_output_config = {"transform": transform}
        return self

    @_spec_has("get_feature_names_out")
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of `transform`, as the fitted spec has them."""
        return np.asarray(self.to_sklearn().get_feature_names_out(input_features), dtype=object)

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
