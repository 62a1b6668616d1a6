"""scikit-learn's meta-estimators, whose inner estimators are fitted on a GPU.

Folds, bags, votes and searches are scikit-learn's own, on the host: it is given rows there, and in
the place of each inner estimator one that is lowered to the device when it is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.feature_selection import SelectFromModel
from sklearn.feature_selection._from_model import _calculate_threshold
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from pipeline import trace
from pipeline.backends.base import METHODS, Backend, Model, Placement
from pipeline.backends.gpu_rules import public_name
from pipeline.errors import ConfigError, OutOfMemory, PipelineError, Reason, Unsupported
from pipeline.table import frames
from pipeline.typing import Estimator, Params, Table, Target

_OF_ONE = {
    "feature_selection": "RFE RFECV SelectFromModel SequentialFeatureSelector",
    "model_selection": "FixedThresholdClassifier GridSearchCV HalvingGridSearchCV "
    "HalvingRandomSearchCV RandomizedSearchCV TunedThresholdClassifierCV",
    "multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "multioutput": "ClassifierChain MultiOutputClassifier MultiOutputRegressor RegressorChain",
    "semi_supervised": "SelfTrainingClassifier",
}

META: Mapping[str, Mapping[str, Callable[[], Estimator] | None]] = {
    "sklearn.calibration.CalibratedClassifierCV": {"estimator": LinearSVC},
    "sklearn.compose.TransformedTargetRegressor": {"regressor": LinearRegression},
    "sklearn.ensemble.AdaBoostClassifier": {
        "estimator": partial(DecisionTreeClassifier, max_depth=1)
    },
    "sklearn.ensemble.AdaBoostRegressor": {
        "estimator": partial(DecisionTreeRegressor, max_depth=3)
    },
    "sklearn.ensemble.BaggingClassifier": {"estimator": DecisionTreeClassifier},
    "sklearn.ensemble.BaggingRegressor": {"estimator": DecisionTreeRegressor},
    "sklearn.ensemble.StackingClassifier": {
        "estimators": None,
        "final_estimator": LogisticRegression,
    },
    "sklearn.ensemble.StackingRegressor": {"estimators": None, "final_estimator": RidgeCV},
    "sklearn.ensemble.VotingClassifier": {"estimators": None},
    "sklearn.ensemble.VotingRegressor": {"estimators": None},
    **{
        f"sklearn.{module}.{name}": {"estimator": None}
        for module, names in _OF_ONE.items()
        for name in names.split()
    },
}
"""Name of the meta-estimator -> the parameters that hold estimators, and what None stands for."""

ASKED = (*METHODS, "predict_log_proba")
"""The methods of inner estimators that scikit-learn calls."""

NOTE = "rows are split on the host; the inner estimators are fitted on the GPU"


def holds_estimators(estimator: Estimator) -> bool:
    """Return whether an estimator is one of scikit-learn's that fits others.

    >>> holds_estimators(SelectFromModel(LinearSVC())), holds_estimators(LinearSVC())
    (True, False)
    """
    return public_name(estimator) in META


def inner_estimators(meta: Estimator) -> dict[str, Estimator]:
    """Return the estimators that a meta-estimator fits, by their paths in it.

    >>> inner_estimators(SelectFromModel(LinearSVC()))
    {'estimator': LinearSVC()}
    """
    found: dict[str, Estimator] = {}
    for param, default in META[public_name(meta)].items():
        held = getattr(meta, param)
        if param == "estimators":
            pairs = (isinstance(pair, tuple | list) and len(pair) == 2 for pair in held or [held])
            if not all(pairs):
                raise ConfigError(f"estimators={held!r} is not a list of (name, estimator)")
            found |= {name: each for name, each in held if not isinstance(each, str)}
        elif held is not None or default is not None:
            found[param] = default() if held is None and default else held
    return found


def find_obstacles(meta: Estimator, step: str) -> list[Reason]:
    """Return why scikit-learn would not fit what is inside, whatever it is."""
    instead = "let it fit the estimator, or use device='auto'"
    return [
        Reason(step, "its estimator is already fitted", instead, name)
        for name, value in (("prefit", True), ("cv", "prefit"))
        if type(getattr(meta, name, None)) is type(value) and getattr(meta, name) == value
    ]


Lower = Callable[..., Any]
"""Called with an estimator and ``name=``, returns its plan, whose only step has the name."""


@dataclass(frozen=True)
class MetaBackend(Backend):
    """Runs scikit-learn's own class on estimators of the GPU."""

    unsafe_in_float32: bool = False
    """One of those inside learns from float64, unless another type is asked for."""
    of_tables: bool = False
    """One of those inside begins with preprocessing, which takes tables as they are."""
    lower: Lower | None = None
    """How those inside are lowered."""

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return where the meta-estimator itself runs."""
        n_jobs = getattr(estimator, "n_jobs", None)
        dropped = () if n_jobs in (None, 1) else (f"n_jobs={n_jobs}",)
        alone = f"without effect on one GPU: {dropped[0]}" if dropped else ""
        note = "; ".join(filter(None, (NOTE, alone)))
        return Placement(step, f"sklearn.{type(estimator).__name__}", "cpu", note, dropped=dropped)

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the meta-estimator, with others in the place of those inside."""
        return MetaModel(estimator, step, self)


_FAILED: ContextVar[list[PipelineError] | None] = ContextVar("failed", default=None)


@contextmanager
def _failures_are_told() -> Iterator[None]:
    """Raise what a search would take for a bad score, although the device is at fault."""
    failed: list[PipelineError] = []
    token = _FAILED.set(failed)
    try:
        yield
    except Exception as error:
        if failed:
            raise failed[0] from error
        raise
    finally:
        _FAILED.reset(token)
    if failed:
        raise failed[0]


class MetaModel(Model):
    """A meta-estimator of scikit-learn on rows of the host."""

    def __init__(self, estimator: BaseEstimator, step: str, backend: MetaBackend) -> None:
        super().__init__(estimator)
        assert backend.lower is not None
        self.of_tables = backend.of_tables
        self.native.set_params(**_replaced(self.native, step, backend.lower))

    def asked_for(self, dtype: str) -> None:
        """Learn from a matrix of a type, unless the inner estimators convert to it."""
        self.dtype = "auto" if self.of_tables else dtype

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit on rows of the host."""
        with _failures_are_told():
            super().fit(self.learnt_from(X), y, **params)

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows, on the host."""
        with _failures_are_told():
            return super().fit_transform(self.learnt_from(X), y, **params)

    def learnt_from(self, X: Table, order: str = "C") -> Any:
        """Return rows as scikit-learn cuts them."""
        X = frames.to_device(X, "cpu")
        return X if self.of_tables else super().learnt_from(X, order)

    def to_sklearn(self) -> Any:
        """Return the fitted meta-estimator of fitted estimators of scikit-learn."""
        lifted = deepcopy(self.native, {_LIFTS: True})
        return lifted.set_params(**clone(self.estimator).get_params(deep=False))


def _replaced(meta: Estimator, step: str, lower: Lower) -> Params:
    """Return the parameters with which a meta-estimator fits on the device."""
    inside = {
        name: Inner(clone(each), f"{step}.{name}", lower)
        for name, each in inner_estimators(meta).items()
    }
    params: Params = {
        param: [(name, inside.get(name, each)) for name, each in meta.estimators]
        if param == "estimators"
        else inside.get(param)
        for param in META[public_name(meta)]
    }
    if hasattr(meta, "n_jobs"):
        params["n_jobs"] = 1
    if type(meta) is SelectFromModel and meta.threshold is None:
        # It goes by the name of the class.
        small = _calculate_threshold(meta.estimator, np.array([0.0, 1.0]), None) < 0.5
        params["threshold"] = 1e-5 if small else "mean"
    return params


_LIFTS: Any = "lifts"
"""In the memory of a copy: it is to be one of scikit-learn's alone."""


class Inner(BaseEstimator):
    """An estimator that is lowered when it is fitted, for scikit-learn's own loops.

    Its parameters are those of the estimator, but to `clone`. `path` is that in the whole.
    """

    def __init__(self, estimator: BaseEstimator, path: str, lower: Lower) -> None:
        self.estimator = estimator
        self.path = path
        self._parent, _, self._name = path.rpartition(".")
        self.lower = lower

    def get_params(self, deep: bool = True) -> Params:
        """Return the parameters of the estimator; those of this class where not `deep`."""
        if deep:
            return dict(self.estimator.get_params(deep=True))
        return {"estimator": self.estimator, "path": self.path, "lower": self.lower}

    def set_params(self, **params: Any) -> Inner:
        """Set parameters of the estimator."""
        self.estimator.set_params(**params)
        return self

    def get_metadata_routing(self) -> Any:
        """Return what the estimator asks for."""
        return self.estimator.get_metadata_routing()

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator."""
        return get_tags(self.estimator)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has been called."""
        return "plan_" in vars(self)

    @property
    def fit(self) -> Callable[..., Inner]:
        """Lower the estimator and fit it."""

        @wraps(self.estimator.fit)  # whose signature says whether it takes weights
        def fit(X: Table, y: Target = None, **params: Any) -> Inner:
            given = {name: value for name, value in params.items() if value is not None}
            name = "" if isinstance(self.estimator, Pipeline) else self._name
            with self._inside():
                plan = self.lower(self.estimator, name=name)
                plan.fit(X, y, **given)
            self.plan_, self.n_features_in_ = plan, np.shape(X)[1] if np.ndim(X) == 2 else None
            self.__dict__.pop("_lifted", None)
            if is_classifier(self.estimator):
                y = np.asarray(y)
                self.classes_ = [np.unique(each) for each in y.T] if y.ndim == 2 else np.unique(y)
            return self

        return fit

    def answer(self, method: str, X: Table, **params: Any) -> Any:
        """Return the result of a method of the fitted estimator, on the host."""
        with self._inside():
            made = self.plan_.call(method, X, **params)
        return self._home(made, method)

    def _home(self, made: Any, method: str) -> Any:
        if isinstance(made, list):
            return [self._home(each, method) for each in made]
        if frames.device_of(made) == "cpu":
            return made
        what = f"what {method} returns"
        with trace.within(self._parent), trace.record(self._name, "copy", "cpu", what):
            return frames.to_device(made, "cpu")

    def score(self, X: Table, y: Target = None, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, R² of a regressor, else its own score."""
        if not (is_classifier(self.estimator) or is_regressor(self.estimator)):
            return float(self.answer("score", X))
        measure = accuracy_score if is_classifier(self.estimator) else r2_score
        return float(measure(y, self.answer("predict", X), sample_weight=sample_weight))

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Record events as inside, and remember what the device does not support."""
        steps = isinstance(self.estimator, Pipeline)
        try:
            with trace.within(self.path if steps else self._parent):
                yield
        except (Unsupported, OutOfMemory) as error:
            if (failed := _FAILED.get()) is not None:
                failed.append(error)
            raise

    def lift(self) -> Any:
        """Return the fitted estimator of scikit-learn; the user's own before `fit`."""
        if "plan_" not in vars(self):
            return self.estimator
        if "_lifted" not in vars(self):
            self._lifted = self.plan_.to_sklearn()
        return self._lifted

    def __getattr__(self, name: str) -> Any:
        """Return a method of the estimator, or a fitted attribute of scikit-learn's."""
        if name in ASKED and hasattr(self.estimator, name):
            return wraps(getattr(self.estimator, name))(partial(self.answer, name))
        if not name.endswith("_") or name.startswith("_") or "plan_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            fitted = self.lift()
        except Unsupported as refused:  # scikit-learn asks whether it is there
            raise AttributeError(str(refused)) from refused
        behind = isinstance(fitted, Pipeline) and not isinstance(self.estimator, Pipeline)
        return getattr(fitted[-1] if behind else fitted, name)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        """Return a copy; the fitted estimator of scikit-learn where a model is lifted."""
        if _LIFTS in memo:
            return self.lift()
        made = copy(self)
        made.__dict__.update(deepcopy(vars(self), memo))
        return made
