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

from pipeline.backends.base import Background, column_means, is_linear
from pipeline.backends.xgboost.shap_values import CELLS, explain
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.compile.plan import Step, run
from pipeline.errors import ConfigError, DataError, ParityError, Reason, Unsupported, clean
from pipeline.model import as_given
from pipeline.model.importance import list_largest
from pipeline.model.inputs import refuse_partitions
from pipeline.model.origins import Groups, group, trace_columns
from pipeline.notebook import HtmlTable, Lines, Shown
from pipeline.optional import available, load
from pipeline.table import frames
from pipeline.trace import ANSWER
from pipeline.typing import Array, Estimator, Name, Table

Steps = list[tuple[str, Estimator]]
TOLERANCE = 1e-4
"""How far a sum may be from the prediction, relative to the largest of 1 and the summed numbers."""

GLMS = ("GammaRegressor", "PoissonRegressor", "TweedieRegressor")
TREES = (
    *("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees"),
    *("GradientBoosting", "HistGradientBoosting"),
)
LINKED = (*GLMS, "HistGradientBoostingRegressor")
"""Their predictions are sums behind the inverse of a link."""
OTHERWISE = (
    "use a linear model, XGBoost or a forest; model.importance(X, y) works with any model, and "
    "shap.Explainer with any function, such as model.to_sklearn().predict"
)


@dataclass(frozen=True, repr=False)
class Contributions(Shown):
    """What each column adds to a prediction: a row's values and its base value sum to it.

    Attributes
    ----------
    values : numpy.ndarray of float64, shape (n_rows, n_columns) or (n_rows, n_columns, n_outputs)
        In the unit of the prediction; three-dimensional for several classes or targets.
    base_values : numpy.ndarray of float64, shape (n_rows,) or (n_rows, n_outputs)
        For trees, the mean prediction of the training rows; for linear models, the prediction at
        the mean of the background.
    columns : tuple
        The names of the table's columns, or their positions. ``"a, b"`` is the joint contribution
        of columns that a step combines into one number.
    output : str
        What the values sum to, such as ``"decision_function"``.
    outputs : tuple
        The class or target of each output; for two classes, the second one. Empty for one target.
    """

    values: np.ndarray
    base_values: np.ndarray
    columns: tuple[Name, ...]
    output: str
    outputs: tuple[Any, ...]

    def _parts(self) -> tuple[str, HtmlTable, Lines]:
        word = "output" if len(self.outputs) == 1 else "outputs"
        of = f", {word} {', '.join(map(str, self.outputs))}" if self.outputs else ""
        rows, columns = self.values.shape[:2]
        title = f"Contributions of {columns:,} columns to {self.output} in {rows:,} rows{of}"
        sizes = np.abs(self.values).mean(axis=0).reshape(columns, -1)
        of_output = self.outputs if self.values.ndim > 2 else ["contribution"]
        head = [f"mean |{each}|" for each in of_output]
        texts = [[f"{size:.4g}" for size in each] for each in sizes]
        return clean(title), *list_largest(self.columns, sizes.sum(axis=1), head, texts)

    def to_frame(self, output: Any = None) -> pd.DataFrame:
        """Return the values of one output as a frame, one column for each of `columns`.

        Parameters
        ----------
        output : object, optional
            One of `outputs`; required if there are several.

        Raises
        ------
        ConfigError
            `output` is not one of `outputs`, or is missing.
        """
        values = self.values
        if values.ndim > 2:
            if output not in self.outputs:
                raise ConfigError(f"output={output!r}: choose from {[*self.outputs]}")
            values = values[:, :, self.outputs.index(output)]
        return pd.DataFrame(values, columns=pd.Index(self.columns, tupleize_cols=False))


def contribute(model: Any, X: Table, background: Table = None) -> Contributions:
    """Return what each column of X adds to the predictions of a fitted `Accelerated`."""
    step, (before, fitted) = model.plan_.steps[-1], _steps(model)
    find = _explainer(fitted, step.name)
    if find is not _linear and background is not None:
        why = f"the trees of {type(fitted).__name__} store the counts of their training rows"
        raise ConfigError(f"background= is for linear models, but {why}; leave it out")
    rows = _rows(model, X, before)
    groups = _groups(model, int(rows.shape[1]), before)
    mean = None
    if find is _linear:
        if background is not None:
            mean = column_means(_rows(model, background, before))
        else:
            mean = _training_means(step, int(rows.shape[1]))
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


def _training_means(step: Step, width: int) -> Array:
    """Return the means of the training rows, which a fit keeps.

    There are none, a `DataError`, if an older version saved the model, scikit-learn ran a pipeline
    as one step, or several GPUs trained it on partitions.
    """
    known: Background | None = getattr(step.worker, "background", None)
    if known is None or known.means.shape != (width,):
        raise DataError(
            f"{step.name}: the model does not store the means of its training rows, which "
            "explaining a linear model needs; pass background=, such as the training rows"
        )
    return known.means


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
        raise DataError("X is sparse, but the model was fitted on dense rows; pass X.toarray()")
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
        why = f"its steps name {len(origins)} columns but produce {width}"
        raise Unsupported(Reason(type(model.estimator).__name__, why, OTHERWISE))
    return group(origins, list(names))


def _explainer(fitted: Estimator, step: str) -> Callable[..., Any]:
    """Return what computes the contributions to the predictions of a fitted estimator."""
    if type(fitted).__module__.startswith("xgboost."):
        return _boosted
    if _is_tree(fitted):
        return _forest
    if is_linear(fitted):
        return _linear
    why = f"{type(fitted).__name__} has no exact contributions"
    raise Unsupported(Reason(step, why, OTHERWISE))


def _is_tree(fitted: Estimator) -> bool:
    """Return whether it is a tree of scikit-learn, or an ensemble that sums their values.

    >>> from sklearn.ensemble import IsolationForest, RandomForestRegressor
    >>> _is_tree(RandomForestRegressor()), _is_tree(IsolationForest())
    (True, False)
    """
    known = (f"{trees}{kind}" for trees in TREES for kind in ("Classifier", "Regressor"))
    return type(fitted).__module__.startswith("sklearn.") and type(fitted).__name__ in known


def _boosted(step: Step, fitted: Estimator, rows: Any, groups: Groups, mean: Any) -> Any:
    if isinstance(step.worker, XGBoostModel):
        return step.worker.call("contributions", rows, sums=groups.sums)
    return explain(fitted, rows, groups.sums)


def _forest(step: Step, fitted: Estimator, rows: Any, groups: Groups, mean: Any) -> Any:
    """Return the values of shap's path-dependent TreeSHAP for scikit-learn's trees, in blocks.

    Lundberg et al., "From local explanations to global understanding with explainable AI for
    trees", Nature Machine Intelligence 2, 2020.
    """
    if not available("shap"):
        raise ConfigError(
            f"{step.name}: explaining scikit-learn's trees needs the package shap, which is not "
            "installed; install the extra `explain`"
        )
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


def _linear(step: Step, fitted: Estimator, rows: Any, groups: Groups, mean: Array) -> Any:
    """Return ``coef * (x - mean)`` by group, and the prediction at the mean.

    These are the Shapley values of a linear model with independent columns (Štrumbelj & Kononenko,
    Knowledge and Information Systems 41, 2014; Lundberg & Lee, "A unified approach to interpreting
    model predictions", NeurIPS 2017, Corollary 1), as in shap's ``LinearExplainer``.
    """
    coef = fitted.coef_.toarray() if frames.is_sparse(fitted.coef_) else np.asarray(fitted.coef_)
    coef, mean = np.atleast_2d(coef).astype("float64"), frames.to_host(mean)
    base = np.broadcast_to(np.ravel(fitted.intercept_), len(coef)) + coef @ mean
    rows = frames.matrix(rows)
    xp = frames.xp(rows.data if frames.is_sparse(rows) else rows)
    made = xp.zeros((rows.shape[0], len(coef), len(groups.columns) + 1))
    made[:, :, -1] = frames.to_device_of(base, made)
    if frames.is_sparse(rows):
        _add_sparse(made, rows, coef, mean, groups)
        return made
    for place, columns in enumerate(groups.of_matrix):
        if len(columns):
            off = rows[:, columns] - frames.to_device_of(mean[columns], made)
            made[:, :, place] = off @ frames.to_device_of(coef[:, columns].T.copy(), made)
    return made


def _add_sparse(made: Array, rows: Any, coef: np.ndarray, mean: np.ndarray, groups: Groups) -> None:
    """Write the sums of each group of the columns of sparse rows."""
    entries, xp, n_groups = rows.tocoo(), frames.xp(made), len(groups.columns)
    place = np.full(rows.shape[1], n_groups)  # of those that belong to no group
    for i, columns in enumerate(groups.of_matrix):
        place[columns] = i
    of = frames.to_device_of(place, made)[entries.col]
    at = entries.row.astype("int64") * (n_groups + 1) + of
    for k, weights in enumerate(coef):
        summands = entries.data * frames.to_device_of(weights, made)[entries.col]
        sums = xp.bincount(at, weights=summands, minlength=len(made) * (n_groups + 1))
        sums = sums.reshape(len(made), n_groups + 1)[:, :-1]
        made[:, k, :-1] = sums - frames.to_device_of((mean * weights) @ groups.sums, made)


def _answer(model: Any, step: Step, fitted: Estimator, rows: Any) -> tuple[str, np.ndarray]:
    """Return the name of what is explained, and the model's own values, for all outputs."""

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
    """Raise a `ParityError` if contributions and predictions differ by more than `TOLERANCE`."""
    size = np.maximum(1, np.maximum(np.abs(values).max(axis=2, initial=0), np.abs(base)))
    off = np.abs(values.sum(axis=2) + base - answer)
    wrong = ~(off <= TOLERANCE * size)  # NaN is wrong too
    if wrong.any():
        row, output = np.argwhere(wrong)[0]
        total, rows = values[row, output].sum() + base[row, output], wrong.any(axis=1).sum()
        raise ParityError(
            f"row {row}: the contributions add up to {total:.9g}, but {name} is "
            f"{answer[row, output]:.9g}; {rows} of {len(wrong)} rows differ; {OTHERWISE}"
        )


def _labels(model: Any, fitted: Estimator, n_outputs: int) -> tuple[Any, ...]:
    classes = getattr(model, "classes_", None) if hasattr(fitted, "classes_") else None
    if classes is not None:
        labels = np.asarray(classes).tolist()
        return tuple(labels[1:] if n_outputs == 1 else labels)
    if n_outputs == 1:
        return ()
    return tuple(model.target_names_ or range(n_outputs))
