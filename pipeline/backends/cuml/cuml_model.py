"""cuML estimators, by cuML's own translation of parameters where it has one.

cuML rejects a value that it does not support, with a reason, which is passed on; a value that it
ignores silently is detected here by translating with and without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state, get_tags

from pipeline import trace
from pipeline.backends.base import Backend, Model, Placement, list_changes
from pipeline.backends.cuml import least_squares, multi_gpu, translations, trees, weights
from pipeline.backends.cuml.translations import refuse_values
from pipeline.backends.gpu_rules import Rule, public_name
from pipeline.backends.xgboost.xgboost_model import heard
from pipeline.errors import DataError, Reason, Unsupported
from pipeline.optional import available, load
from pipeline.table import frames
from pipeline.typing import Estimator, Params, Table, Target

ON_HOST = "run the step on the CPU with device='auto'"
MISSING = "cuML does not support missing values (NaN)"
FAR_OFF = "cuML computes distances in float32, and the rows are too far from zero for that"
FAR = 1e-4
"""eps |x|^2 / variance from which rows are too far from zero: their mean is some 30 deviations.

Of the 5 nearest of 20,000 normal rows of 2, 10 and 50 columns, the same expansion in NumPy finds
at 1e-6: 99.9, 100, 100 %; at 1e-5: 99.1, 99.9, 100 %; at 1e-4: 93.5, 100, 99.9 %; at 1e-3: 50,
99.2, 98.7 %; at 1e-2: 18, 92, 85 %. On a GPU cuML found 0.03 % of 2,000 rows of 4 columns at 12.
"""
EXACT = "learns from float64 unless dtype='float32', which may be too inaccurate"


class CumlBackend(Backend):
    """Runs the estimators of one row of the table by cuML's class."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.order, self.sparse = rule, rule.order, "sparse" in rule.tags
        self.unsafe_in_float32 = rule.dtype == "float64"

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return cuML's estimator in the place of scikit-learn's."""
        return Cuml(estimator, self.rule, step)

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return cuML's class, its parameters, and those that it ignores."""
        estimator = in_python(estimator)
        taken = translate(self.rule, estimator, step)
        changes = list_changes(estimator.get_params(deep=False), taken)
        if self.rule.dtype in ("float32", "scaled"):
            changes["dtype"] = "float32" if self.rule.dtype == "float32" else "float64"
        dropped = tuple(list_dropped(self.rule, estimator, step))
        notes = [f"without effect in cuML: {', '.join(dropped)}"] if dropped else []
        notes += [EXACT] if self.unsafe_in_float32 else []
        return Placement(step, self.rule.twin, "cuda", "; ".join(notes), changes, dropped)


class Cuml(Model):
    """A cuML estimator in the place of a scikit-learn one."""

    def __init__(self, estimator: BaseEstimator, rule: Rule, step: str) -> None:
        # Not from_sklearn: that needs a GPU, and sets output_type="numpy",
        # which would copy every result to the host.
        params = translate(rule, estimator, step)
        super().__init__(estimator, load(rule.twin)(**params))
        self.rule, self.step, self.params = rule, step, params
        self.sparse = "sparse" in rule.tags
        self.text_labels = self.keeps_sparse = False

    def asked_for(self, dtype: str) -> None:
        """Learn from a matrix of a type, unless it learns from one only."""
        if self.rule.dtype != "scaled":
            self.dtype = "float32" if self.rule.dtype == "float32" else dtype

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit on a CuPy matrix, dense or sparse."""
        if frames.is_partitioned(X):
            return self._fit_together(X, y)
        X = self._learnable(X, y, params)
        self.native.set_params(**self._draw_seed())
        params = self._scale_weights(y, params)
        if self.rule.dtype == "scaled" and not frames.is_sparse(X):
            return self._fit_scaled(X, y, params)
        with self._handling_trees():
            return super().fit(X, y, **params)

    def _fit_scaled(self, X: Table, y: Target, params: Params) -> None:
        """Fit on a matrix of a size for cuML's cutoff, which may be overwritten."""
        X, factor = least_squares.scale_matrix(
            X,
            params.get("sample_weight"),
            tol=self.estimator.tol,
            centred=self.params["fit_intercept"],
            n_targets=np.size(y) // len(y),
        )
        self.native.set_params(copy_X=False)
        super().fit(X, y, **params)
        self.native.coef_ = self.native.coef_ * factor

    def _draw_seed(self) -> dict[str, Any]:
        """Return a seed as scikit-learn draws it, where cuML would always take the same."""
        if "seeded" not in self.rule.tags or self.params["random_state"] is not None:
            return {}
        return {"random_state": int(check_random_state(None).randint(np.iinfo(np.int32).max))}

    def _scale_weights(self, y: Target, params: Params) -> dict[str, Any]:
        """Return the parameters of `fit`, with weights that cuML's solver can do with."""
        if self.rule.strength is None:
            return params
        given = params.get("sample_weight")
        mean = 2.0 if self.rule.halved and self.params["loss"] == self.rule.halved else 1.0
        given, changed = weights.scale_weights(self.params, self.rule.strength, y, given, mean)
        self.native.set_params(**changed)
        return params if given is None else {**params, "sample_weight": given}

    def _fit_together(self, X: Table, y: Target) -> None:
        """Take the model that all GPUs of the cluster train."""
        taken = {**self.params, **self._draw_seed()}
        model = multi_gpu.train_on_gpus(self.estimator, taken, self.learnt_from(X), y)
        if model is None:
            raise self._missing()
        self.native, self.text_labels = model, _is_text(y)

    def trains_distributed(self, call: str, X: Table, y: Target, params: Params) -> str:
        """Return which class trains on all GPUs; "" where this one does on one."""
        if not multi_gpu.has_several_gpus() or self._find_unsupported_reasons(call, X, y, params):
            return ""
        path = multi_gpu.MULTI_GPU[public_name(self.estimator)].path
        return f"trained by all GPUs of the cluster ({path})"

    def why_gathered(self, call: str, X: Table, y: Target, params: Params) -> str:
        """Return why one GPU of several learns."""
        several = multi_gpu.has_several_gpus()
        return "; ".join(self._find_unsupported_reasons(call, X, y, params)) if several else ""

    def _find_unsupported_reasons(
        self, call: str, X: Table, y: Target, params: Params
    ) -> list[str]:
        if call not in multi_gpu.CALLS:
            return [f"{call} runs on one GPU"]
        return multi_gpu.find_unsupported_reasons(self.estimator, self.params, (X, y), params)

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows, on the device; of partitions, as such."""
        if frames.is_partitioned(X):
            self._fit_together(X, y)
            return multi_gpu.transform_partitions(self, self.typed(X))
        return super().fit_transform(self._learnable(X, y, params), y, **params)

    def fit_predict(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the labels of the training rows, on the device."""
        if frames.is_partitioned(X):
            self._fit_together(X, y)
            return self.native.labels_
        X = self._learnable(X, y, params)
        with self._handling_trees():
            return super().fit_predict(X, y, **params)

    def partial_fit(self, X: Table, y: Target, **params: Any) -> None:
        """Learn from more rows."""
        classes = {"classes": params.pop("classes")} if "classes" in params else {}
        X = self._learnable(X, y, params)
        super().partial_fit(X, y, **params, **classes)

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return ``estimator.method(X)``, on the device."""
        if not hasattr(self.native, method):
            why = f"cuML's {type(self.estimator).__name__} has no {method}"
            raise Unsupported(Reason(self.step, why, f"use to_sklearn().{method}(X)"))
        if X is None:  # the training rows, which `kneighbors` finds in the model
            return getattr(self.native, method)(**params)
        if frames.is_partitioned(X):
            return super().call(method, X, **params)
        given, X = X, frames.matrix(self.taken(X, self.rule.order), self.rule.order, self.dtype)
        if multi_gpu.has_missing(X):
            raise self._missing()
        if self.keeps_sparse and not frames.is_sparse(X):
            X = load("cupyx.scipy.sparse.csr_matrix")(X)
        X = self._copy_if_written(X, given)
        # CuPy has no arrays of text; cuML would raise.
        text = method == "predict" and self.text_labels
        with (
            self._handling_trees(),
            load("cuml.using_output_type")("cudf") if text else nullcontext(),
        ):
            return super().call(method, X, **params)

    def _handling_trees(self) -> AbstractContextManager[None]:
        """Let cuML grow and read trees, in a block, without warnings that nobody can act on.

        nvForest has an older Treelite built in than the package with which cuML writes them, and
        rows that are fewer than the bins make fewer bins.
        """
        known = ".*originated from a newer Treelite|The number of bins, `n_bins`"
        return heard(known) if hasattr(self.native, "as_nvforest") else nullcontext()

    def cast(self) -> tuple[str, Any] | None:
        """Return no step where the lifted estimator computes in float64, whatever its rows are."""
        if self.rule.dtype == self.dtype == "float64":
            return None
        return super().cast()

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn estimator, with the parameters of the estimator."""
        if self.rule.translation:
            return _move_home(self.rule.translation.lift(self.native, self.estimator))
        lifted = self.native.as_sklearn().set_params(**self.estimator.get_params(deep=False))
        if hasattr(type(lifted), "feature_importances_"):
            trees.complete(lifted)
        return _move_home(lifted)

    def resume(self, fitted: Estimator) -> None:
        """Take the state of a fitted scikit-learn estimator over to the device."""
        if self.rule.translation:
            why = f"cuML cannot load a fitted {type(self.estimator).__name__} of scikit-learn"
            raise Unsupported(Reason(self.step, why, f"fit it on the GPU, or {ON_HOST}"))
        try:
            self.native._sync_attrs_from_cpu(fitted)
        except ValueError as error:  # cuML's UnsupportedOnGPU is one
            raise Unsupported(Reason(self.step, f"cuML: {error}", ON_HOST)) from error
        self.keeps_sparse = "keeps_rows" in self.rule.tags and frames.is_sparse(fitted._fit_X)
        # Set by `fit` to the type of its input, which nothing here has shown.
        self.native.output_type = "cupy"
        self.text_labels = _is_text(getattr(fitted, "classes_", None))

    def _learnable(self, X: Table, y: Target, params: Params) -> Any:
        given, X = X, self.learnt_from(X, self.rule.order)
        reasons = [*self._find_unsupported_data(y, params)]
        if multi_gpu.has_missing(X):
            if not get_tags(self.estimator).input_tags.allow_nan:
                raise self._missing()
            reasons.append((MISSING, "impute them in an earlier step"))
        elif self._measures_distances() and _lie_far_off(X):
            reasons.append((FAR_OFF, "put a StandardScaler before it"))
        if reasons:
            raise Unsupported(
                *(Reason(self.step, why, f"{do}, or {ON_HOST}") for why, do in reasons)
            )
        moving = [each for each in (y, params.get("sample_weight")) if each is not None]
        trace.record_transfer(to_device=sum(np.asarray(each).nbytes for each in moving))
        self.text_labels = _is_text(y)
        self.keeps_sparse = "keeps_rows" in self.rule.tags and frames.is_sparse(X)
        return self._copy_if_written(X, given)

    def _copy_if_written(self, X: Table, given: Any) -> Any:
        """Return rows that cuML may write to: theirs are as they were but for rounding."""
        params = self.estimator.get_params(deep=False)
        at_risk = self.first and X is given and "overwrites" in self.rule.tags
        if not at_risk or frames.is_sparse(X) or not X.flags.f_contiguous:
            return X
        return X.copy(order="F") if params.get("copy", params.get("copy_X", True)) else X

    def _find_unsupported_data(self, y: Target, params: Params) -> Iterator[tuple[str, str]]:
        """Yield why cuML cannot learn from a target with these parameters, and a suggestion."""
        twin = f"cuML's {type(self.estimator).__name__}"
        for param, value in params.items():
            if value is not None and not (param == "sample_weight" and "weights" in self.rule.tags):
                yield f"the fit of {twin} does not support {param}", "leave it out"
        if y is None:
            return
        given = {name: each for name, each in {**self.params, **params}.items() if each is not None}
        uneven = " and ".join(name for name in self.rule.unweighted if name in given)
        bootstrap = getattr(self.estimator, "bootstrap", True)
        if np.ndim(y) == 2 and y.shape[1] > 1 and "targets" not in self.rule.tags:
            yield f"{twin} supports one target, but y has {y.shape[1]}", "fit one model per target"
        elif uneven and (n_classes := len(np.unique(y))) > 2:
            why = f"{twin} supports {uneven} for two classes only, but y has {n_classes}"
            yield why, "leave it out"
        elif "two_classes" in self.rule.tags and len(np.unique(y)) > 2:
            why = f"scikit-learn can only load {twin} for two classes"
            yield why, "put OneVsOneClassifier around it"
        elif not bootstrap and ("sample_weight" in given or given.get("class_weight")):
            yield f"without bootstrap, {twin} ignores weights", "use bootstrap=True"

    def _measures_distances(self) -> bool:
        """Return whether distances between rows are expanded, as only Euclidean ones are."""
        metric, p = self.params.get("metric", "euclidean"), self.params.get("p", 2)
        euclidean = metric in ("euclidean", "l2", "sqeuclidean")
        return "keeps_rows" in self.rule.tags and (euclidean or (metric == "minkowski" and p == 2))

    def _missing(self) -> DataError:
        return DataError(f"{self.step}: {MISSING}; impute them in an earlier step")


class CumlWorker(Cuml):
    """A transformer inside preprocessing, where it may be given frames."""

    names: Any = None
    """The names of the columns that it learnt from, which scikit-learn's keeps as well."""

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows."""
        named = frames.is_frame(X) and all(isinstance(name, str) for name in X.columns)
        self.names = np.asarray(list(X.columns), dtype=object) if named else None
        return super().fit_transform(X, y, **params)

    def to_sklearn(self) -> Any:
        """Return the fitted transformer."""
        lifted = super().to_sklearn()
        if self.names is not None:
            lifted.feature_names_in_ = self.names
        return lifted

    def resume(self, fitted: Estimator) -> None:
        """Take a fitted transformer over to the device."""
        self.names = getattr(fitted, "feature_names_in_", None)
        bare = copy(fitted)  # here it is given matrices
        bare.__dict__.pop("feature_names_in_", None)
        super().resume(bare)


def _lie_far_off(X: Any) -> bool:
    """Return whether rows are too far from zero for distances in float32."""
    if frames.is_sparse(X):
        return False
    spread = X.var(axis=0, dtype="float64").sum()
    squares = (X.mean(axis=0, dtype="float64") ** 2).sum() + spread
    return bool(float(np.finfo("float32").eps) * squares > FAR * spread)


def _is_text(labels: Target) -> bool:
    return labels is not None and np.asarray(labels).dtype.kind not in "iufb"


def _move_home(lifted: Estimator) -> Any:
    """Return an estimator without arrays of the device, or else only a GPU could unpickle it."""
    for name, value in vars(lifted).items():
        if frames.device_of(value) == "cuda":
            home = frames.to_device(value, "cpu")
            setattr(lifted, name, home.item() if np.ndim(home) == 0 else home)
    return lifted


def in_python(estimator: BaseEstimator) -> BaseEstimator:
    """Return an estimator whose numbers are Python's, as cuML asks for them.

    To `isinstance(value, int)` a number of NumPy's is none: cuML's forests would take
    `min_samples_leaf=np.int64(5)`, as grids of parameters have it, for five times all rows.

    >>> from sklearn.linear_model import Ridge
    >>> in_python(Ridge(alpha=np.float32(0.5), max_iter=np.int64(9)))
    Ridge(alpha=0.5, max_iter=9)
    """
    params = estimator.get_params(deep=False).items()
    numbers = {name: value.item() for name, value in params if isinstance(value, np.generic)}
    return copy(estimator).set_params(**numbers) if numbers else estimator


def translate(rule: Rule, estimator: BaseEstimator, step: str) -> dict[str, Any]:
    """Return cuML's parameters for an estimator; where it is not installed, as of one release."""
    estimator = in_python(estimator)
    if rule.translation:
        return rule.translation.translate(estimator, step)
    try:
        if available(rule.twin.partition(".")[0]):
            taken = dict(load(rule.twin)._params_from_cpu(estimator))
        else:
            given = estimator.get_params(deep=False)
            taken = translations.translate_frozen(public_name(estimator), given)
    except ValueError as error:
        suggestion = f"change the parameter, or {ON_HOST}"
        raise Unsupported(Reason(step, f"cuML: {error}", suggestion)) from error
    refuse_values(rule.only, estimator, step)
    return taken | dict(rule.fixed)


def list_dropped(rule: Rule, estimator: BaseEstimator, step: str) -> list[str]:
    """Return the parameters that differ from their default, but that cuML ignores."""
    estimator, defaults = in_python(estimator), type(estimator)().get_params(deep=False)
    whole = repr(translate(rule, estimator, step))
    dropped = []
    for name, value in estimator.get_params(deep=False).items():
        if repr(value) != repr(defaults[name]) and not (rule.dtype == "scaled" and name == "tol"):
            without = clone(estimator).set_params(**{name: defaults[name]})
            with suppress(Unsupported):  # the default itself, as SpectralClustering's affinity
                if repr(translate(rule, without, step)) == whole:
                    dropped.append(f"{name}={value!r}")
    return dropped
