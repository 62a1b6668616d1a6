"""A stand-in for the two cuML classes of our rules: scikit-learn inside, cuML's manners outside.

Its translation of parameters repeats cuML's for the values that the tests use;
`test_live.py` holds it against the real one.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier as ForestOriginal
from sklearn.linear_model import LogisticRegression as LogisticOriginal

from tests.contract import arrays, tables, text
from tests.contract.recorder import RECORDER, Refused


class UnsupportedOnGPU(ValueError):
    """cuML's own refusal of a parameter value."""


class _Model:
    OWNER = ""
    original: type[BaseEstimator]

    def __init__(self, **params: Any) -> None:
        RECORDER.call(self.OWNER, "__init__", (), params)
        self.params = params

    @classmethod
    def _params_from_cpu(cls, model: BaseEstimator) -> dict[str, Any]:
        with RECORDER.paused():
            return cls.translated(model)

    @classmethod
    def translated(cls, model: BaseEstimator) -> dict[str, Any]:
        raise NotImplementedError(cls)

    def params_to_cpu(self) -> dict[str, Any]:
        """Return the parameters for scikit-learn."""
        return self.params

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit; X must be on the device, y may be on the host."""
        RECORDER.call(self.OWNER, "fit", (X, y), {"sample_weight": sample_weight})
        RECORDER.copied("device", "explicit", y.nbytes)
        with RECORDER.paused():
            self._fitted = self.original(**self.params_to_cpu()).fit(_host(X), y, sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        """Return labels in the kind of array that is asked for, or that X is."""
        RECORDER.call(self.OWNER, "predict", (X,))
        labels = self._fitted.predict(_host(X))
        if using_output_type.current == "cudf":
            return tables.Series(pd.Series(labels))
        if labels.dtype.kind not in "iufb":
            # cuml.internals.outputs.ClassLabels.to_output
            raise TypeError(f"output_type='cupy' doesn't support outputs of dtype {labels.dtype}")
        return arrays.ndarray(labels)

    def predict_proba(self, X: Any) -> arrays.ndarray:
        """Return probabilities on the device."""
        RECORDER.call(self.OWNER, "predict_proba", (X,))
        return arrays.ndarray(self._fitted.predict_proba(_host(X)))

    def as_sklearn(self) -> BaseEstimator:
        """Return the fitted scikit-learn estimator."""
        RECORDER.call(self.OWNER, "as_sklearn", ())
        return self._fitted


def _host(X: Any) -> np.ndarray:
    with RECORDER.paused():
        X = X.to_cupy(na_value=np.nan) if isinstance(X, tables.DataFrame) else X
    if not isinstance(X, arrays.ndarray | text.csr_matrix):
        raise Refused(f"a {type(X).__name__} from the host was handed to cuML")
    return X._host


class LogisticRegression(_Model):
    """The stand-in of `cuml.linear_model.LogisticRegression`."""

    __module__ = "cuml.linear_model.logistic_regression"
    OWNER = "cuml.linear_model.LogisticRegression"
    original = LogisticOriginal

    @classmethod
    def translated(cls, model: BaseEstimator) -> dict[str, Any]:
        """Return cuML's parameters; `solver` and `random_state` are lost."""
        if model.warm_start:
            raise UnsupportedOnGPU("`warm_start=True` is not supported")
        if model.intercept_scaling != 1:
            raise UnsupportedOnGPU(
                f"`intercept_scaling={model.intercept_scaling}` is not supported"
            )
        ridge = model.l1_ratio in (None, 0)
        return {
            "penalty": "l2" if ridge else "elasticnet",
            "l1_ratio": None if ridge else model.l1_ratio,
            "solver": "qn",
            **_same(model, "tol", "C", "fit_intercept", "class_weight", "max_iter"),
        }

    def params_to_cpu(self) -> dict[str, Any]:
        """Return the parameters for scikit-learn."""
        own = {"penalty", "l1_ratio", "solver"}
        return {name: value for name, value in self.params.items() if name not in own}


class RandomForestClassifier(_Model):
    """The stand-in of `cuml.ensemble.RandomForestClassifier`."""

    __module__ = "cuml.ensemble.randomforestclassifier"
    OWNER = "cuml.ensemble.RandomForestClassifier"
    original = ForestOriginal

    @classmethod
    def translated(cls, model: BaseEstimator) -> dict[str, Any]:
        """Return cuML's parameters."""
        for name, plain in (("warm_start", False), ("ccp_alpha", 0.0)):
            if getattr(model, name) != plain:
                raise UnsupportedOnGPU(f"`{name}={getattr(model, name)}` is not supported")
        if model.criterion not in ("gini", "entropy"):
            raise UnsupportedOnGPU(f"`criterion={model.criterion!r}` is not supported")
        sampled = {} if model.max_samples is None else {"max_samples": model.max_samples}
        same = (
            "n_estimators max_depth min_samples_split min_samples_leaf max_features "
            "min_impurity_decrease bootstrap random_state oob_score class_weight"
        )
        return {
            "split_criterion": model.criterion,
            "max_leaves": -1 if model.max_leaf_nodes is None else model.max_leaf_nodes,
            **_same(model, *same.split()),
            **sampled,
        }

    def params_to_cpu(self) -> dict[str, Any]:
        """Return the parameters for scikit-learn."""
        params = dict(self.params)
        leaves = params.pop("max_leaves")
        params["criterion"] = params.pop("split_criterion")
        return params | {"max_leaf_nodes": None if leaves == -1 else leaves}


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


def _same(model: BaseEstimator, *names: str) -> dict[str, Any]:
    return {name: getattr(model, name) for name in names}


def modules() -> dict[str, ModuleType]:
    """Return the stand-ins of `cuml` and its modules, by name."""
    made = {name: ModuleType(name) for name in ("cuml", "cuml.linear_model", "cuml.ensemble")}
    made["cuml"].using_output_type = using_output_type
    made["cuml.linear_model"].LogisticRegression = LogisticRegression
    made["cuml.ensemble"].RandomForestClassifier = RandomForestClassifier
    return made
