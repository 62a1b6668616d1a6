"""XGBoost: the same class on every device, with a check of where it ran."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from pipeline import trace
from pipeline.backends.base import Model
from pipeline.backends.xgboost import (
    checkpoints,
    distributed,
    external_memory,
    handover,
    ranking,
    training,
)
from pipeline.backends.xgboost import shap_values as contributions
from pipeline.backends.xgboost.structure import check_booster
from pipeline.distributed.cluster import active
from pipeline.errors import DataError, DeviceUnavailable, Reason, close_to, final
from pipeline.optional import COMMAND, load
from pipeline.table import frames, output, partitioned
from pipeline.table.borrowed import borrow
from pipeline.typing import Array, Estimator, Params, Table, Target

OF_TABLE = {"base_score", "interaction_constraints", "monotone_constraints"}
"""Parameters that may say something of each column, class or target."""


@contextmanager
def heard(message: str = "`XGBRF") -> Iterator[None]:
    """Run the block without a warning: by default, that of an old class, already shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message)
        yield


class XGBoostModel(Model):
    """An XGBoost estimator on ``"cpu"`` or ``"cuda"``."""

    def __init__(self, estimator: BaseEstimator, device: str) -> None:
        with heard():
            super().__init__(estimator, borrow(estimator).set_params(device=device))
        self.device = device

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit, then read back where XGBoost ran: without a GPU it merely warns."""
        training.use_memory_pool(self.device)
        if y is None:
            name = type(self.native).__name__
            raise DataError(f"{name} requires y to be passed, but the target y is None")
        if frames.is_partitioned(X):
            return self._fit_partitions(X, y, params)
        X = handover.prepare(X)
        if sets := params.get("eval_set"):
            made = [(handover.prepare(Z, lambda name: X[name].cat.categories), z) for Z, z in sets]
            params = {**params, "eval_set": made}
        if ranking.is_ranker(self.estimator):
            X, y, params = ranking.sort_queries(X, y, params)
        data = partial(checkpoints.hash_rows, X, y, params.get("sample_weight"))
        try:
            continued = checkpoints.continue_training(self.native, params, data)
            sets = [Z for Z, _ in params.get("eval_set") or ()]
            judged = handover.without_recoding(self.native, X, sets)
            with _in_few_words(), continued as more, judged:
                params = {**params, **more}
                handover.refuse_missing_categories(self.native, X, params)
                super().fit(X, self._place_target(X, y), **params)
        except ValueError:  # XGBoostError is one
            training.check_labels(self.native, y)
            raise
        return self._check_device(self.native.get_booster())

    def _fit_partitions(self, X: Table, y: np.ndarray, params: Params) -> None:
        training.check_labels(self.native, y)
        on_cluster = active() is not None
        train = distributed.train_on_workers if on_cluster else external_memory.train_from_disk
        booster = train(self.native, X, y, **params)
        self._check_device(booster)
        self.native = self._copy_with(booster).set_params(device=self.device)

    def trains_distributed(self, call: str, X: Table, y: Target, params: Params) -> str:
        """Return how it learns from partitions: by a cluster, or from the disk if it must."""
        if not distributed.trains_distributed(self.estimator, params):
            return ""
        if active() is not None:
            return "trained by all workers of the cluster"
        enough, sizes = partitioned.fits(X)
        return "" if enough or hasattr(X, "columns") else f"external memory: {sizes}"

    def _check_device(self, booster: Estimator) -> None:
        ran_on = json.loads(booster.save_config())["learner"]["generic_param"]["device"]
        if not ran_on.startswith(self.device):
            said = f"XGBoost trained on {ran_on!r} instead of {self.device!r}"
            raise DeviceUnavailable(f"{said}; see `{COMMAND} doctor`")

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return ``estimator.method(X)``; XGBoost brings its predictions to the host itself."""
        if frames.is_partitioned(X):
            return super().call(method, X, **params)
        training.use_memory_pool(self.device)
        X = handover.prepare(X, partial(handover.learnt_categories, self.native))
        if method == "score" and params.get("qid") is not None:
            return self._score_queries(X, **params)
        # It rejects infinite numbers when it trains, and accepts them when it predicts.
        if not frames.is_sparse(X):
            output.check_finite(X)
        # Of sparse rows it warns that they are on the host and the trees are not.
        fallback = heard(".*Falling back to prediction using DMatrix")
        with fallback if frames.is_sparse(X) else nullcontext(), _in_few_words():
            if method == "contributions":  # which tell what comes back
                return contributions.explain(self.native, X, **params)
            result = super().call(method, X, **params)
        if self.device == "cuda" and method != "score":
            trace.record_transfer(to_host=self._answer_nbytes(result), what="answer")
        return result

    def _answer_nbytes(self, result: Any) -> int:
        """Return the bytes that XGBoost brings: float32, of which it makes labels on the host."""
        result = np.asarray(result)
        outputs, classes = result.size // max(len(result), 1), getattr(self.native, "n_classes_", 0)
        if outputs in (1, classes):  # of two classes it brings the chance of the second
            outputs = classes if classes > 2 else 1
        return 4 * len(result) * outputs

    def _score_queries(self, X: Table, y: np.ndarray, qid: Array) -> float:
        """Return the score of a ranking by query; XGBoost's own `score` reads frames alone."""
        X, y, given = ranking.sort_queries(X, np.asarray(y), {"qid": qid})
        native, qid = self.native, np.asarray(frames.to_device(given["qid"], "cpu"))
        matrix = handover.make_matrix(native, X, label=y, qid=qid)
        metric = native.eval_metric
        by_query = load("xgboost.sklearn.ltr_metric_decorator")
        judge = by_query(metric, native.n_jobs) if callable(metric) else None
        told = native.get_booster().eval_set([(matrix, "eval")], feval=judge)
        return float(told.rpartition(":")[2])

    def _place_target(self, X: Table, y: np.ndarray) -> Any:
        """Return a target where the rows are: on a GPU, XGBoost looks for its classes there."""
        if frames.device_of(X) == "cuda" and y.dtype.kind in "iuf":
            return frames.to_device(y, "cuda")
        if self.device == "cuda":
            trace.record_transfer(to_device=y.nbytes)
        return y

    def resume(self, trees: bytes) -> None:
        """Take a trained booster, written as UBJSON, for that of the estimator."""
        check_booster(trees)
        try:
            self.native.load_model(bytearray(trees))
        except ValueError as error:  # XGBoostError is one
            raise DataError(f"not a booster of XGBoost: {_first_line(error)}") from error
        # The device of the estimator, not the one that it was trained on.
        self.native.get_booster().set_param({"device": self.device})

    def to_sklearn(self) -> Any:
        """Return the user's estimator with the trained booster, free of any device."""
        return self._copy_with(self.native.get_booster())

    def _copy_with(self, booster: Estimator) -> Any:
        with heard():
            lifted = clone(self.estimator)
        lifted.load_model(bytearray(booster.save_raw("ubj")))
        # load_model writes these too; set_params would wake the device of the estimator.
        for name in ("base_score", "booster", "enable_categorical", "feature_types"):
            setattr(lifted, name, getattr(self.estimator, name))
        # It is no part of a booster.
        if hasattr(self.native, "evals_result_"):
            lifted.evals_result_ = self.native.evals_result_
        return lifted


def find_host_only_params(estimator: Estimator, step: str) -> list[Reason]:
    """Return a reason for each parameter that XGBoost supports on the CPU only."""
    params = estimator.get_xgb_params()
    updater, on_cpu = params.get("updater") or "", "or device='auto' to run this step on the CPU"
    if params.get("booster") == "gblinear" and updater != "gpu_coord_descent":
        why, suggestion = "XGBoost trains linear boosters on the CPU only", f"use trees, {on_cpu}"
        return [Reason(step, why, suggestion, "booster")]
    if params.get("tree_method") == "exact" or "grow_colmaker" in updater:
        name = "updater" if "grow_colmaker" in updater else "tree_method"
        why = "XGBoost does not support exact trees on the GPU"
        return [Reason(step, why, f"use tree_method='hist', {on_cpu}", name)]
    return []


def find_bad_params(estimator: Estimator, step: str) -> list[Reason]:
    """Return a reason for each parameter that XGBoost rejects, or ignores with a warning only.

    XGBoost's classes take any keyword and any value; XGBoost itself is asked,
    by training nothing on one row.
    """
    params = estimator.get_xgb_params()
    unnamed = getattr(estimator, "kwargs", None) or {}
    judged = {name: value for name, value in params.items() if _is_judged(name, value)}
    answer = _try_params({**judged, "verbosity": 1, "device": "cpu"})
    if isinstance(answer, ValueError):
        return [Reason(step, f"XGBoost: {_first_line(answer)}", "fix the value")]
    unused = re.findall(r"Parameters: \{ (.*?) \} are not used", answer)
    names = [name for group in unused for name in re.findall(r'"(\w+)"', group)]
    known = set(estimator.get_params()) - set(unnamed)
    reasons = []
    for name in names:
        if name in unnamed:
            close = close_to(name, known)
            instead = f"did you mean {close!r}?" if close else "see XGBoost's list of parameters"
            reasons.append(Reason(step, "XGBoost has no such parameter", instead, name))
    return reasons


def _is_judged(name: str, value: Array) -> bool:
    """Return whether XGBoost itself can check a parameter without the table."""
    if value is None:
        return False
    if name == "objective":
        return not value.startswith("multi:")  # which takes several classes
    if name in OF_TABLE:
        return isinstance(value, str | Real)
    return not (isinstance(value, Sequence) and any(callable(each) for each in value))


def _try_params(params: Params) -> str | ValueError:
    """Return XGBoost's warnings about parameters, or its error."""
    xgboost = load("xgboost")
    matrix = xgboost.DMatrix(np.zeros((1, 1)), label=np.zeros(1))
    if params.get("objective", "").startswith("rank:"):
        matrix.set_group([1])
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            xgboost.train(params, matrix, num_boost_round=0).save_config()
        except ValueError as error:  # XGBoostError is one
            return error
    return " ".join(str(warning.message) for warning in caught)


@contextmanager
def _in_few_words() -> Iterator[None]:
    """Raise XGBoost's errors about rows without the stack trace of its code."""
    try:
        yield
    except ValueError as error:  # XGBoostError is one
        line = _first_line(error)
        if re.search("category not in the training set|Input data contains", line):
            raise final(DataError(f"XGBoost: {line}; clean the column")) from error
        raise


def _first_line(error: Exception) -> str:
    """Return what XGBoost says, without the place in its source and the stack trace."""
    text = str(error).strip().partition("\n")[0]
    return re.sub(r"^\[[\d:]+\] \S+: ", "", text)
