"""What each column of a table adds to the predictions of a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from pipeline.backends.xgboost.shap_values import CELLS, explain
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.compile.plan import Step, run
from pipeline.errors import ConfigError, DataError, ParityError, Reason, Unsupported
from pipeline.model import as_given
from pipeline.model.inputs import refuse_partitions
from pipeline.model.origins import Groups, group, trace_columns
from pipeline.optional import available, load
from pipeline.table import frames
from pipeline.trace import ANSWER
from pipeline.typing import Array, Estimator, Name, Table

Steps = list[tuple[str, Estimator]]
TOLERANCE = 1e-4
"""How far a sum may be from the answer, relative to the largest of 1 and the summed numbers."""

GLMS = ("GammaRegressor", "PoissonRegressor", "TweedieRegressor")
TREES = (
    *("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees"),
    *("GradientBoosting", "HistGradientBoosting"),
)
LINKED = (*GLMS, "HistGradientBoostingRegressor")
"""Their predictions are sums behind the inverse of a link."""
OTHERWISE = (
    "use a linear model, XGBoost or a forest; model.importance(X, y) takes any model, and "
    "shap.Explainer any function, as that of model.to_sklearn()"
)


@dataclass(frozen=True, repr=False)
class Contributions:
    """What each column adds to an answer: a row of values and its base value sum to it.

    Attributes
    ----------
    values : numpy.ndarray of float64, shape (n_rows, n_columns) or (n_rows, n_columns, n_outputs)
        In the unit of the answer; the latter of several classes or targets.
    base_values : numpy.ndarray of float64, shape (n_rows,) or (n_rows, n_outputs)
        The mean answer: of the training rows for trees, of the background for linear models.
    columns : tuple
        The names of the columns of the table, or their numbers. Where a step makes one number of
        several columns, "a, b" stands for what they add together.
    output : str
        What is explained, such as ``"decision_function"``: the answer that the values sum to.
    outputs : tuple
        The class or target of each output; of two classes, the second. Empty for one target.
    """

    values: np.ndarray
    base_values: np.ndarray
    columns: tuple[Name, ...]
    output: str
    outputs: tuple[Any, ...]

    def __repr__(self) -> str:
        """Return what is explained, and by how many columns."""
        of = f" of {', '.join(map(str, self.outputs))}" if self.outputs else ""
        rows, columns = self.values.shape[:2]
        return f"Contributions({rows:,} rows, {columns} columns, to {self.output}{of})"

    def to_frame(self, output: Any = None) -> pd.DataFrame:
        """Return the values of one output as a frame, one column for each of `columns`.

        Parameters
        ----------
        output : object, optional
            One of `outputs`, where there are several.

        Raises
        ------
        ConfigError
            There is no such output, or there are several and none is named.
        """
        values = self.values
        if values.ndim > 2:
            if output not in self.outputs:
                raise ConfigError(f"output={output!r} is not one of {[*self.outputs]}")
            values = values[:, :, self.outputs.index(output)]
        return pd.DataFrame(values, columns=pd.Index(self.columns, tupleize_cols=False))


def contribute(model: Any, X: Table, background: Table = None) -> Contributions:
    """Return what each column of X adds to the answers of a fitted `Accelerated`."""
    step, (before, fitted) = model.plan_.steps[-1], _steps(model)
    find = _explainer(fitted, step.name)
    if find is not _linear and background is not None:
        why = f"the trees of {type(fitted).__name__} know their training rows"
        raise ConfigError(f"background: {why}; leave it out")
    rows = _rows(model, X, before)
    groups = _groups(model, int(rows.shape[1]), before)
    mean = None
    if find is _linear:
        if background is None and rows.shape[0] < 2:
            raise DataError(
                "a linear model is explained against other rows, and there is only one; pass "
                "background=, such as the training rows"
            )
        mean = _means(rows if background is None else _rows(model, background, before))
    name, answer = _answer(model, step, fitted, rows)
    work = partial(find, step, fitted, rows, groups, mean)
    made = model._on_host(run(work, step.name, "contributions", step.device, ANSWER))
    values, base = made[:, :, :-1], made[:, :, -1]
    answer = np.asarray(answer, dtype="float64").reshape(base.shape)
    _check_sums(values, base, answer, name)
    labels = _labels(model, fitted, base.shape[1])
    if base.shape[1] == 1:
        values, base = values[:, 0], base[:, 0]
    else:
        values = np.ascontiguousarray(values.transpose(0, 2, 1))
    return Contributions(values, base, groups.columns, name, labels)


def _steps(model: Any) -> tuple[Steps, Estimator]:
    """Return the fitted steps before the last estimator, and that estimator."""
    *first, last = model.plan_.steps
    if not model.plan_.as_given:
        before = [pair for step in first for pair in step.to_sklearn().items()]
        boosted = isinstance(last.worker, XGBoostModel)
        return before, last.worker.native if boosted else last.worker.to_sklearn()
    lifted = model._lifted
    return (lifted.steps[:-1], lifted[-1]) if isinstance(lifted, Pipeline) else ([], lifted)


def _rows(model: Any, X: Table, before: Steps) -> Any:
    """Return rows as the last estimator reads them, on its device."""
    refuse_partitions(X, "an explanation")
    X = model.inputs_.take(as_given.materialize(X))
    if model.plan_.as_given:
        return Pipeline(before).transform(X) if before else X
    if not model._takes(X):
        raise DataError("X is sparse, and the model has learnt from dense rows; pass X.toarray()")
    return model.plan_.transform(X)


def _groups(model: Any, width: int, before: Steps) -> Groups:
    """Return how the columns of the matrix are summed to those of the table."""
    takes = model.inputs_
    names = takes.names or (
        range(takes.n_features) if takes.n_features else [getattr(takes, "column", None) or "text"]
    )
    origins = [frozenset({at}) for at in range(len(names))]
    if before:
        origins = trace_columns(Pipeline(before), origins, width)
    if len(origins) != width:
        why = f"its steps make {len(origins)} columns by what they say, and {width} in fact"
        raise Unsupported(Reason(type(model.estimator).__name__, why, OTHERWISE))
    return group(origins, list(names))


def _explainer(fitted: Estimator, step: str) -> Callable[..., Any]:
    """Return what finds the contributions to the answers of a fitted estimator."""
    if type(fitted).__module__.startswith("xgboost."):
        return _boosted
    if _is_tree(fitted):
        return _forest
    if _is_linear(fitted):
        return _linear
    why = f"there are no exact contributions to the answers of {type(fitted).__name__}"
    raise Unsupported(Reason(step, why, OTHERWISE))


def _is_tree(fitted: Estimator) -> bool:
    """Return whether it is a tree of scikit-learn, or an ensemble of them that sums their values.

    >>> from sklearn.ensemble import IsolationForest, RandomForestRegressor
    >>> _is_tree(RandomForestRegressor()), _is_tree(IsolationForest())
    (True, False)
    """
    known = (f"{trees}{kind}" for trees in TREES for kind in ("Classifier", "Regressor"))
    return type(fitted).__module__.startswith("sklearn.") and type(fitted).__name__ in known


def _is_linear(fitted: Estimator) -> bool:
    """Return whether an estimator answers ``X @ coef_.T + intercept_``."""
    if type(fitted).__name__ in ("NuSVC", "SVC") and len(fitted.classes_) > 2:
        return False  # it decides between pairs of classes
    if type(fitted).__name__.startswith("PLS"):
        return False  # it centres its rows
    return getattr(fitted, "coef_", None) is not None and hasattr(fitted, "intercept_")


def _boosted(step: Step, fitted: Estimator, rows: Any, groups: Groups, mean: Any) -> Any:
    if isinstance(step.worker, XGBoostModel):
        return step.worker.call("contributions", rows, sums=groups.sums)
    return explain(fitted, rows, groups.sums)


def _forest(step: Step, fitted: Estimator, rows: Any, groups: Groups, mean: Any) -> Any:
    """Return what shap's path-dependent TreeSHAP finds for trees of scikit-learn, block by block.

    Lundberg et al., "From local explanations to global understanding with explainable AI for
    trees", Nature Machine Intelligence 2, 2020.
    """
    if not available("shap"):
        raise ConfigError("it needs the package shap, which is not installed (the extra `explain`)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what its plots use
        explain_trees = load("shap.TreeExplainer")
    try:
        explainer = explain_trees(fitted, feature_perturbation="tree_path_dependent")
    except (AssertionError, AttributeError, TypeError, ValueError) as error:
        line = str(error).strip().partition("\n")[0]
        raise Unsupported(Reason(step.name, f"shap: {line}", OTHERWISE)) from error
    X = frames.to_device(frames.matrix(rows), "cpu")
    width, n_rows = int(X.shape[1]), int(X.shape[0])
    base = np.ravel(explainer.expected_value)
    outputs = range(1, 2) if len(base) == 2 and is_classifier(fitted) else range(len(base))
    made = np.empty((n_rows, len(outputs), len(groups.columns) + 1))
    made[:, :, -1] = base[outputs]
    a_block = max(1, CELLS // (width * len(base)))
    for start in range(0, n_rows, a_block):
        block = X[start : start + a_block]
        block = block.toarray() if frames.is_sparse(block) else block
        found = np.asarray(explainer.shap_values(block, check_additivity=False))
        found = found.reshape(len(block), width, -1)
        for k, output in enumerate(outputs):
            made[start : start + a_block, k, :-1] = found[:, :, output] @ groups.sums
    return made


def _linear(step: Step, fitted: Estimator, rows: Any, groups: Groups, mean: np.ndarray) -> Any:
    """Return ``coef * (x - mean)`` by group, and the answer for the mean.

    They are the Shapley values where columns are independent (Štrumbelj & Kononenko, Knowledge and
    Information Systems 41, 2014).
    """
    coef = fitted.coef_.toarray() if frames.is_sparse(fitted.coef_) else np.asarray(fitted.coef_)
    coef = np.atleast_2d(coef).astype("float64")
    base = np.broadcast_to(np.ravel(fitted.intercept_), len(coef)) + coef @ mean
    rows = frames.matrix(rows)
    xp = frames.xp(rows.data if frames.is_sparse(rows) else rows)
    made = xp.zeros((rows.shape[0], len(coef), len(groups.columns) + 1))
    made[:, :, -1] = frames.to_device_of(base, made)
    if frames.is_sparse(rows):
        _sum_cells(made, rows, coef, mean, groups)
        return made
    for place, columns in enumerate(groups.of_matrix):
        if len(columns):
            off = rows[:, columns] - frames.to_device_of(mean[columns], made)
            made[:, :, place] = off @ frames.to_device_of(coef[:, columns].T.copy(), made)
    return made


def _sum_cells(made: Array, rows: Any, coef: np.ndarray, mean: np.ndarray, groups: Groups) -> None:
    """Write the sums of each group of the columns of sparse rows."""
    cells, xp, n_groups = rows.tocoo(), frames.xp(made), len(groups.columns)
    place = np.full(rows.shape[1], n_groups)  # of those that belong to no group
    for i, columns in enumerate(groups.of_matrix):
        place[columns] = i
    at = cells.row.astype("int64") * (n_groups + 1) + frames.to_device_of(place, made)[cells.col]
    for k, weights in enumerate(coef):
        summands = cells.data * frames.to_device_of(weights, made)[cells.col]
        sums = xp.bincount(at, weights=summands, minlength=len(made) * (n_groups + 1))
        sums = sums.reshape(len(made), n_groups + 1)[:, :-1]
        made[:, k, :-1] = sums - frames.to_device_of((mean * weights) @ groups.sums, made)


def _means(rows: Any) -> np.ndarray:
    """Return the means of the columns of a matrix, on the host."""
    rows = frames.matrix(rows)
    if not frames.is_sparse(rows):
        return frames.to_host(rows.mean(axis=0, dtype="float64"))
    cells = rows.tocoo()
    sums = frames.xp(cells.data).bincount(
        cells.col, weights=cells.data.astype("float64"), minlength=rows.shape[1]
    )
    return frames.to_host(sums / rows.shape[0])


def _answer(model: Any, step: Step, fitted: Estimator, rows: Any) -> tuple[str, np.ndarray]:
    """Return what is explained, and what the model itself answers, of all outputs."""

    def ask(method: str, **params: Any) -> Any:
        if model.plan_.as_given:
            return getattr(fitted, method)(rows, **params)
        return model._on_host(step.call(method, rows, **params))

    name = type(fitted).__name__
    if type(fitted).__module__.startswith("xgboost."):
        return "predict(output_margin=True)", ask("predict", output_margin=True)
    if hasattr(fitted, "decision_function"):
        return "decision_function", ask("decision_function")
    if hasattr(fitted, "predict_proba"):
        shares = ask("predict_proba")
        return "predict_proba", shares[:, 1] if shares.shape[1] == 2 else shares
    if name in LINKED:
        link = (fitted._get_loss() if name in GLMS else fitted._loss).link
        sums = {"IdentityLink": "predict", "LogLink": "log(predict)"}[type(link).__name__]
        return sums, link.link(np.asarray(ask("predict"), "float64"))
    return "predict", ask("predict")


def _check_sums(values: np.ndarray, base: np.ndarray, answer: np.ndarray, name: str) -> None:
    """Raise where contributions do not add up to what the model answers.

    Raises
    ------
    ParityError
        By more than `TOLERANCE` in some row.
    """
    size = np.maximum(1, np.maximum(np.abs(values).max(axis=2, initial=0), np.abs(base)))
    off = np.abs(values.sum(axis=2) + base - answer)
    wrong = ~(off <= TOLERANCE * size)  # NaN is wrong too
    if wrong.any():
        row, output = np.argwhere(wrong)[0]
        total, rows = values[row, output].sum() + base[row, output], wrong.any(axis=1).sum()
        raise ParityError(
            f"the contributions to row {row} add up to {total:.9g}, and {name} says "
            f"{answer[row, output]:.9g}; so in {rows} of {len(wrong)} rows; {OTHERWISE}"
        )


def _labels(model: Any, fitted: Estimator, n_outputs: int) -> tuple[Any, ...]:
    classes = getattr(model, "classes_", None) if hasattr(fitted, "classes_") else None
    if classes is not None:
        labels = np.asarray(classes).tolist()
        return tuple(labels[1:] if n_outputs == 1 else labels)
    if n_outputs == 1:
        return ()
    return tuple(model.target_names_ or range(n_outputs))
