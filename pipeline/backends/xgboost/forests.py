"""Trees of scikit-learn as a booster of XGBoost, which splits every row as they do.

scikit-learn reads rows as float32 and sends x to the left where ``x <= t``, t a float64; XGBoost
does where ``x < u``, u a float32. So u is the float32 after the largest one that is not above t.
Histogram gradient boosting compares float64: its rows are given by their places among all
thresholds of a column. TreeSHAP weighs the two sides of a split by the weights of the training
rows, ``sum_hessian``.
The fields are those of XGBoost's JSON Schema of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import numpy as np
from scipy.sparse import csr_matrix

from pipeline.backends.xgboost.contributions import explain_booster
from pipeline.data import frames
from pipeline.errors import Reason, Unsupported
from pipeline.optional import load
from pipeline.typing import Array, Estimator, Table

SINGLE = ("DecisionTree", "ExtraTree")
MEANS = ("RandomForest", "ExtraTrees")
BOOSTED = ("GradientBoosting",)
HISTOGRAMS = ("HistGradientBoosting",)
ROOT = 2**31 - 1
"""The parent of a root."""
_LARGE = np.nextafter(np.finfo("float32").max, np.float32(0))


class _Ensemble(NamedTuple):
    """What a fitted estimator sums."""

    trees: list[Any]
    output: list[int] | None
    """To which output each tree adds; None where each tree has a value for every output."""
    factor: float
    offset: np.ndarray
    limits: Sequence[np.ndarray] | None = None
    """The thresholds of each column, in order; those of the trees are their places."""


def is_known(fitted: Estimator) -> bool:
    """Return whether an estimator of scikit-learn is one that can be converted.

    >>> from sklearn.ensemble import IsolationForest, RandomForestRegressor
    >>> is_known(RandomForestRegressor()), is_known(IsolationForest())
    (True, False)
    """
    name = type(fitted).__name__
    known = [f"{each}{kind}" for each in (*SINGLE, *MEANS, *BOOSTED, *HISTOGRAMS)
             for kind in ("Classifier", "Regressor")]  # fmt: skip
    return type(fitted).__module__.startswith("sklearn.") and name in known


def explain_forest(fitted: Estimator, X: Table, sums: csr_matrix) -> np.ndarray:
    """Return the contributions to what fitted trees of scikit-learn answer.

    Parameters
    ----------
    fitted : estimator
        One that `is_known`.
    X : frame or matrix, shape (n_rows, n_columns)
        XGBoost explains it where it is; sparse rows block by block, since an absent cell is 0 to
        scikit-learn and missing to XGBoost.
    sums : csr_matrix of shape (n_columns, n_groups)

    Returns
    -------
    numpy.ndarray of float64, shape (n_rows, n_outputs, n_groups + 1)
        As `pipeline.backends.xgboost.contributions.explain` returns it.

    Raises
    ------
    Unsupported
        Boosting that begins with another estimator or has categories, or several targets that are
        classes; or trees that XGBoost does not explain on a GPU.
    """
    ensemble, device = _ensemble(fitted), frames.device_of(X)
    booster = _booster(ensemble, fitted)
    rows = partial(_rows, limits=ensemble.limits)
    X = frames.matrix(X, dtype="float64" if ensemble.limits else "float32")
    booster.set_param({"device": device})
    try:
        made = explain_booster(booster, X, sums, rows)
    except ValueError as error:  # XGBoostError is one
        if device == "cpu":
            raise
        line = str(error).strip().partition("\n")[0]
        way_out = "set max_depth, or load the saved model with device='cpu' and explain that"
        raise Unsupported(Reason(type(fitted).__name__, f"XGBoost: {line}", way_out)) from error
    made[:, :, -1] += ensemble.offset
    return made


def _rows(block: Array, limits: Sequence[np.ndarray] | None) -> Any:
    dense = block.toarray() if frames.is_sparse(block) else block
    dense = dense if limits is None else _places(dense, limits)
    return load("xgboost.DMatrix")(dense.astype("float32", copy=False), missing=np.nan)


def _places(rows: Array, limits: Sequence[np.ndarray]) -> Array:
    """Return how many thresholds of its column each number is above; NaN of those missing.

    >>> _places(np.array([[0.5], [0.6], [np.nan]]), [np.array([0.5, 0.7])]).tolist()
    [[0.0], [1.0], [nan]]
    """
    xp = frames.xp(rows)
    made = xp.empty(rows.shape, dtype="float32")
    for j, known in enumerate(limits):
        made[:, j] = xp.searchsorted(frames.to_device_of(known, rows), rows[:, j])
    made[xp.isnan(rows)] = np.nan
    return made


def to_booster(fitted: Estimator) -> tuple[Any, np.ndarray]:
    """Return fitted trees as a booster, and what to add to its margin.

    Parameters
    ----------
    fitted : estimator
        One that `is_known`.

    Returns
    -------
    booster : xgboost.Booster
        Its margin is the mean of the trees, or their sum where they were boosted: values,
        probabilities of the classes (of two, that of the second), or the decision function.
        The columns of one from histograms are places among thresholds.
    offset : numpy.ndarray, shape (n_outputs,)
    """
    made = _ensemble(fitted)
    return _booster(made, fitted), made.offset


def _booster(made: _Ensemble, fitted: Estimator) -> Any:
    trees: list[dict[str, Any]] = []
    outputs: list[int] = []
    for i, tree in enumerate(made.trees):
        # scikit-learn keeps the shares of the classes, or sums of weights of older versions.
        values = _values(tree, fitted) * made.factor
        for j in range(values.shape[1]):
            trees.append(_convert(tree, values[:, j], len(trees)))
            outputs.append(j if made.output is None else made.output[i])
    booster = load("xgboost.Booster")()
    booster.load_model(bytearray(_write(trees, outputs, len(made.offset), made.trees[0])))
    return booster


def _ensemble(fitted: Estimator) -> _Ensemble:
    name = type(fitted).__name__
    if name.startswith(BOOSTED):
        return _boosted(fitted)
    if name.startswith(HISTOGRAMS):
        return _of_histograms(fitted)
    if isinstance(getattr(fitted, "n_classes_", None), list | np.ndarray):
        why = "several targets that are classes have no one probability"
        raise Unsupported(Reason(name, why, "fit a model of each target"))
    trees = [fitted] if name.startswith(SINGLE) and not hasattr(fitted, "estimators_") else None
    trees = fitted.estimators_ if trees is None else trees
    width = _values(trees[0].tree_, fitted).shape[1]
    return _Ensemble([each.tree_ for each in trees], None, 1 / len(trees), np.zeros(width))


def _boosted(fitted: Estimator) -> _Ensemble:
    if fitted.init_ != "zero" and type(fitted.init_).__name__ not in (
        "DummyClassifier",
        "DummyRegressor",
    ):
        why = f"it begins with {type(fitted.init_).__name__}, whose part is not known"
        raise Unsupported(Reason(type(fitted).__name__, why, "use init=None", "init"))
    none = np.zeros((1, fitted.n_features_in_), dtype="float32")
    trees = [each.tree_ for each in fitted.estimators_.ravel()]
    output = [*range(fitted.estimators_.shape[1])] * len(fitted.estimators_)
    return _Ensemble(trees, output, fitted.learning_rate, fitted._raw_predict_init(none)[0])


def _of_histograms(fitted: Estimator) -> _Ensemble:
    if fitted._preprocessor is not None:
        why, way_out = "its categories have no thresholds", "encode them before it, or use XGBoost"
        raise Unsupported(Reason(type(fitted).__name__, why, way_out, "categorical_features"))
    nodes = [each.nodes for rows in fitted._predictors for each in rows]
    whole = np.concatenate([each[each["is_leaf"] == 0] for each in nodes])
    columns = range(fitted.n_features_in_)
    limits = [np.unique(whole["num_threshold"][whole["feature_idx"] == j]) for j in columns]
    trees = [_histogram_tree(each, limits) for each in nodes]
    offset = np.ravel(fitted._baseline_prediction)
    return _Ensemble(trees, [*range(len(offset))] * len(fitted._predictors), 1.0, offset, limits)


def _histogram_tree(nodes: np.ndarray, limits: Sequence[np.ndarray]) -> SimpleNamespace:
    """Return a tree of histogram gradient boosting as other trees of scikit-learn are."""
    inner, columns = nodes["is_leaf"] == 0, nodes["feature_idx"]
    places = np.zeros(len(nodes))
    for i in np.flatnonzero(inner):
        places[i] = np.searchsorted(limits[columns[i]], nodes["num_threshold"][i])
    return SimpleNamespace(
        node_count=len(nodes),
        n_features=len(limits),
        children_left=np.where(inner, nodes["left"].astype(int), -1),
        children_right=np.where(inner, nodes["right"].astype(int), -1),
        feature=columns,
        threshold=places,
        missing_go_to_left=nodes["missing_go_to_left"],
        value=nodes["value"].reshape(-1, 1, 1),
        weighted_n_node_samples=nodes["count"].astype("float64"),
    )


def _values(tree: Any, fitted: Estimator) -> np.ndarray:
    """Return what is in the leaves, of shape (n_nodes, n_outputs)."""
    name = type(fitted).__name__
    if name.endswith("Regressor") or name.startswith((*BOOSTED, *HISTOGRAMS)):
        values: np.ndarray = tree.value[:, :, 0]
        return values
    shares = tree.value[:, 0, :]
    shares = shares / shares.sum(axis=1, keepdims=True)
    return shares[:, 1:] if shares.shape[1] == 2 else shares


def _convert(tree: Any, values: np.ndarray, number: int) -> dict[str, Any]:
    """Return a tree as XGBoost writes it, with these values in the leaves."""
    n_nodes, order = tree.node_count, _siblings_together(tree)
    new = np.empty(n_nodes, dtype=int)
    new[order] = np.arange(n_nodes)
    inner = tree.children_left[order] >= 0
    left, right = (np.where(inner, new[side[order]], -1)
                   for side in (tree.children_left, tree.children_right))  # fmt: skip
    parents = np.full(n_nodes, ROOT)
    parents[left[inner]] = parents[right[inner]] = inner.nonzero()[0]
    values = values[order]
    return {
        "base_weights": values.tolist(),
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": (inner & (tree.missing_go_to_left[order] == 1)).astype(int).tolist(),
        "id": number,
        "left_children": left.tolist(),
        "loss_changes": [0.0] * n_nodes,
        "parents": parents.tolist(),
        "right_children": right.tolist(),
        "split_conditions": np.where(inner, _strict(tree.threshold[order]), values).tolist(),
        "split_indices": np.where(inner, tree.feature[order], 0).tolist(),
        "split_type": [0] * n_nodes,
        "sum_hessian": tree.weighted_n_node_samples[order].tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(tree.n_features),
            "num_nodes": str(n_nodes),
            "size_leaf_vector": "1",
        },
    }


def _siblings_together(tree: Any) -> np.ndarray:
    """Return the nodes level by level: XGBoost takes the right child for the one after the left."""
    levels = [np.zeros(1, dtype=int)]
    while len(inner := levels[-1][tree.children_left[levels[-1]] >= 0]):
        levels.append(np.stack([tree.children_left[inner], tree.children_right[inner]], 1).ravel())
    return np.concatenate(levels)


def _strict(thresholds: np.ndarray) -> np.ndarray:
    """Return the float32 below which those float32 are that are not above a threshold.

    >>> above = _strict(np.array([0.5, 0.1]))
    >>> bool(np.float32(0.5) < above[0]), bool(np.float32(0.1) < above[1])
    (True, False)
    """
    # Where missing values alone go to one side, the threshold is infinite, which JSON has not.
    thresholds = np.clip(thresholds, -_LARGE, _LARGE)
    near = thresholds.astype("float32")
    below = np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
    return np.nextafter(below, np.float32(np.inf))


def _write(trees: list[dict[str, Any]], outputs: list[int], n_outputs: int, first: Any) -> bytes:
    """Return a model of XGBoost in JSON."""
    several = str(n_outputs) if n_outputs > 1 else "0"
    objective: dict[str, Any] = {"name": "reg:squarederror", "reg_loss_param": {}}
    if n_outputs > 1:
        parameters = {"num_class": several}
        objective = {"name": "multi:softprob", "softmax_multiclass_param": parameters}
    model = {
        "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": [0, len(trees)],
        "tree_info": outputs,
        "trees": trees,
    }
    learner = {
        "attributes": {},
        "feature_names": [],
        "feature_types": [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {
            "base_score": "[" + ",".join(["0E0"] * max(1, n_outputs)) + "]",
            "boost_from_average": "0",
            "num_class": several,
            "num_feature": str(first.n_features),
            "num_target": "1",
        },
        "objective": objective,
    }
    version = [int(part) for part in load("xgboost.__version__").split(".")[:3]]
    return msgspec.json.encode({"learner": learner, "version": version})
