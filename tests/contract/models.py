"""Stand-ins for cuML's estimators: scikit-learn inside, cuML's manners outside.

Their methods are those that the real classes have, and their translation of
parameters is the frozen one of the real ones; both are written by
`tests.contract.snapshot` and held against the real ones in the live job.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.class_weight import compute_sample_weight

from pipeline.backends.cuml import translations
from pipeline.backends.gpu_rules import APART, CUML, Rule, public_name
from tests.contract import arrays, csr, least_squares, tables
from tests.contract.estimators import ASKING, LEARNING
from tests.contract.recorder import RECORDER, Refused
from tests.contract.trees import handed_over


class UnsupportedOnGPU(ValueError):
    """cuML's own refusal of a parameter value."""


class _Model:
    OWNER: str
    sklearn_class: type[BaseEstimator]
    rule: Rule
    translated: list[tuple[dict[str, Any], BaseEstimator]]
    """Parameters that were asked for, and the estimator of scikit-learn that has them."""

    def __init__(self, **params: Any) -> None:
        RECORDER.call(self.OWNER, "__init__", (), params)
        self.params, self.changed = params, {}

    def set_params(self, **params: Any) -> Any:
        RECORDER.call(self.OWNER, "set_params", (), params)
        self.changed = params
        return self

    def __getattr__(self, name: str) -> Any:
        """Return a fitted attribute, where a rule of ours reads it."""
        if self.rule.translation is None or not name.endswith("_") or "_fitted" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        with RECORDER.paused():
            return _attribute(self._fitted, name)

    def _unfitted(self) -> BaseEstimator:
        if self.rule.translation is None:
            for taken, estimator in self.translated:
                if taken | dict(self.rule.fixed) == self.params:
                    return self._as_told(clone(estimator))
            raise LookupError(f"no estimator was translated to {self.params}")
        return self.sklearn_class(
            **{name: self.params[name] for name in self.rule.translation.same}
        )

    def _as_told(self, estimator: BaseEstimator) -> BaseEstimator:
        """Return an estimator with what was changed after the translation, and a halved loss.

        liblinear weighs no other class but the one that it tells from the rest.
        """
        estimator.set_params(**self.changed, **({"random_state": 0} if self._unseeded() else {}))
        of_classes = set((self.changed.get("class_weight") or {}).values())
        if len(of_classes) == 1:
            estimator.set_params(C=estimator.C * of_classes.pop(), class_weight=None)
        return estimator.set_params(C=estimator.C / 2) if self._halved() else estimator

    def _halved(self) -> bool:
        return bool(self.rule.halved) and self.params["loss"] == self.rule.halved

    def _solve(self, X: Any, y: Any, weights: Any) -> None:
        """Put what cuML's solver finds in the place of scikit-learn's optimum."""
        fitted = self._fitted
        fitted.coef_, fitted.intercept_ = least_squares.solve(
            _host(X), y, weights, intercept=fitted.fit_intercept
        )

    @property
    def coef_(self) -> Any:
        with RECORDER.paused():
            return _attribute(self._fitted, "coef_")

    @coef_.setter
    def coef_(self, value: Any) -> None:
        self._fitted.coef_ = value._host

    def _overwrite(self, X: Any) -> None:
        """Centre rows that lie column by column in place, and put the mean back."""
        dense = "overwrites" in self.rule.tags and not sparse.issparse(_host(X))
        if dense and _host(X).flags.f_contiguous:
            mean = _host(X).mean(axis=0)
            _host(X)[...] = _host(X) - mean + mean

    def _refuse_sparse(self, X: Any) -> None:
        if sparse.issparse(_host(X)) and "sparse" not in self.rule.tags:
            # cuml.internals.validation.check_array
            raise TypeError("Sparse data was passed for X, but dense data is required.")

    def _refuse_dense(self, X: Any) -> None:
        kept = getattr(self._fitted, "_fit_X", None)
        if sparse.issparse(kept) and not sparse.issparse(_host(X)):
            # cuml.neighbors.nearest_neighbors.NeighborsBase._kneighbors_sparse
            raise ValueError("A model trained on sparse data requires sparse input")

    def _unseeded(self) -> bool:
        """Return whether the same seed is taken each time."""
        return (
            "seeded" in self.rule.tags and self.params["random_state"] is None and not self.changed
        )

    def _weigh(self, y: Any, given: Any) -> None:
        """Refuse weights with which cuML's solver would go astray."""
        if self.rule.strength is None:
            return
        of_classes = (self.params | self.changed).get("class_weight")
        weights = compute_sample_weight(of_classes, y) if of_classes else np.ones(len(y))
        weights = weights if given is None else weights * given
        if abs(weights.mean() - (2 if self._halved() else 1)) > 1e-6:
            raise Refused(f"value and gradient disagree: the mean weight is {weights.mean()}")
        if "sample_weight" in self.rule.unweighted and len(np.unique(y)) > 2 and np.ptp(weights):
            raise Refused("weights are ignored")


def _attribute(fitted: BaseEstimator, name: str) -> Any:
    if name == "sigma_":
        return arrays.ndarray(fitted.var_)
    value = getattr(fitted, name)
    if sparse.issparse(value):
        return csr.csr_matrix.made(value)
    on_device = isinstance(value, np.ndarray) and name != "classes_"
    return arrays.ndarray(value) if on_device else value


def _params_from_cpu(cls: type[_Model], model: BaseEstimator) -> dict[str, Any]:
    try:
        taken = translations.translate_frozen(public_name(model), model.get_params(deep=False))
        cls.translated.append((taken, model))
        return dict(taken)
    except ValueError as error:
        raise UnsupportedOnGPU(str(error)) from error


def _learning(name: str) -> Callable[..., Any]:
    def learn(self: _Model, X: Any, y: Any = None, **given: Any) -> Any:
        """Learn; X must be on the device, y and weights may be on the host."""
        RECORDER.call(self.OWNER, name, (X, y), given)
        for each in (y, given.get("sample_weight")):
            if each is not None:
                RECORDER.copied("device", "explicit", each.nbytes)
        with RECORDER.paused():
            self._weigh(y, given.get("sample_weight"))
            self._refuse_sparse(X)
            self._overwrite(X)
            if name != "partial_fit" or "_fitted" not in vars(self):
                self._fitted = self._unfitted()
            # As cuML's, one that need not copy X overwrites it.
            made = getattr(self._fitted, name)(_host(X).copy(), y, **given)
            if self.rule.dtype == "scaled" and not sparse.issparse(_host(X)):
                self._solve(X, y, given.get("sample_weight"))
        return self if made is self._fitted else _answer(made)

    return learn


def _asking(name: str) -> Callable[..., Any]:
    def ask(self: _Model, X: Any = None, **given: Any) -> Any:
        """Return an answer in the kind of array that is asked for, or that X is."""
        RECORDER.call(self.OWNER, name, () if X is None else (X,), given)
        with RECORDER.paused():
            if X is None:
                return _answer(getattr(self._fitted, name)(**given))
            self._refuse_sparse(X)
            self._refuse_dense(X)
            self._overwrite(X)
            return _answer(getattr(self._fitted, name)(_host(X), **given))

    return ask


def _answer(made: Any) -> Any:
    if isinstance(made, tuple):
        return tuple(_answer(each) for each in made)
    if sparse.issparse(made):
        return csr.csr_matrix.made(made)
    if not isinstance(made, np.ndarray):
        return made
    if using_output_type.current == "cudf":
        return tables.Series(pd.Series(made))
    if made.dtype.kind not in "iufb":
        # cuml.internals.outputs.ClassLabels.to_output
        raise TypeError(f"output_type='cupy' doesn't support outputs of dtype {made.dtype}")
    return arrays.ndarray(made)


def _host(X: Any) -> np.ndarray:
    with RECORDER.paused():
        X = X.to_cupy(na_value=np.nan) if isinstance(X, tables.DataFrame) else X
    if not isinstance(X, arrays.ndarray | csr.csr_matrix):
        raise Refused(f"a {type(X).__name__} from the host was handed to cuML")
    return X._host


def _as_sklearn(self: _Model) -> BaseEstimator:
    RECORDER.call(self.OWNER, "as_sklearn", ())
    if "RandomForest" in self.OWNER:
        return handed_over(self._fitted)
    made = copy(self._fitted)
    if hasattr(made, "n_samples_seen_"):
        made.n_samples_seen_ = arrays.ndarray(np.array(made.n_samples_seen_))
    return made


def _sync_attrs_from_cpu(self: _Model, model: BaseEstimator) -> None:
    """Take the state of a fitted scikit-learn estimator over."""
    RECORDER.call(self.OWNER, "_sync_attrs_from_cpu", (model,))
    self._fitted = model


def standin(path: str, rule: Rule) -> type[_Model]:
    """Return the stand-in of the cuML class of a rule, whose scikit-learn class is at a path.

    It has the methods that the real one has.
    """
    from tests.contract.verify import frozen

    module, _, name = path.rpartition(".")
    made: dict[str, Any] = {each: _learning(each) for each in LEARNING}
    made |= {each: _asking(each) for each in ASKING}
    made |= {"as_sklearn": _as_sklearn, "_params_from_cpu": classmethod(_params_from_cpu)}
    made["_sync_attrs_from_cpu"] = _sync_attrs_from_cpu
    had = {each: made[each] for each in made if frozen().has(rule.twin, each)}
    sklearn_class = getattr(import_module(module), name)
    about = {"OWNER": rule.twin, "sklearn_class": sklearn_class, "rule": rule, "translated": []}
    return type(name, (_Model,), {**had, **about, "__module__": rule.twin.rpartition(".")[0]})


class using_output_type:  # noqa: N801
    """The stand-in of `cuml.using_output_type`; ``"cudf"`` is the one kind it knows."""

    current = ""

    def __init__(self, output_type: str) -> None:
        RECORDER.call("cuml", "using_output_type", (output_type,))
        if output_type != "cudf":
            raise Refused(f"the stand-in of cuML knows no output_type={output_type!r}")

    def __enter__(self) -> None:
        using_output_type.current = "cudf"

    def __exit__(self, *error: object) -> None:
        using_output_type.current = ""


def modules() -> dict[str, ModuleType]:
    """Return the stand-ins of `cuml` and its modules, by name."""
    made = {"cuml": ModuleType("cuml")}
    made["cuml"].using_output_type = using_output_type
    for path, rule in CUML.items():
        if path in APART:
            continue
        module, _, name = rule.twin.rpartition(".")
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            made.setdefault(".".join(parts[:end]), ModuleType(".".join(parts[:end])))
        setattr(made[module], name, standin(path, rule))
    return made
