"""What XGBoost's `train` needs of an estimator, and the memory that it takes on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.errors import DataError
from pipeline.optional import load
from pipeline.system import devices
from pipeline.table.target import classes

if TYPE_CHECKING:
    from xgboost import XGBModel


def options(estimator: XGBModel) -> dict[str, Any]:
    """Return the options of `xgboost.train`, and of `xgboost.dask.train`, beside the parameters."""
    objective, adapt = estimator.objective, load("xgboost.sklearn._objective_decorator")
    return {
        "num_boost_round": estimator.get_num_boosting_rounds(),
        "obj": adapt(objective) if callable(objective) else None,
        "early_stopping_rounds": estimator.early_stopping_rounds,
        "callbacks": estimator.callbacks,
    }


def find_params(estimator: XGBModel, y: np.ndarray) -> dict[str, Any]:
    """Return the parameters of the booster, as XGBoost's own `fit` chooses them."""
    params = dict(estimator.get_xgb_params())
    if hasattr(estimator, "predict_proba") and (n_classes := len(classes(y))) > 2:
        params |= {"objective": "multi:softprob", "num_class": n_classes}
    return params


def check_labels(estimator: XGBModel, y: np.ndarray) -> None:
    """Raise `DataError` where a classifier gets labels that are not 0, 1, …, n - 1."""
    if not hasattr(estimator, "predict_proba") or (y.ndim == 2 and y.shape[1] > 1):
        return
    labels = classes(y)
    if not np.array_equal(labels, np.arange(len(labels))):
        raise DataError(
            f"{type(estimator).__name__} needs the classes 0, 1, …, n - 1, but y holds "
            f"{labels.tolist()[:9]}; pass LabelEncoder().fit_transform(y)"
        )


def use_memory_pool(device: str) -> None:
    """Let XGBoost use CUDA's asynchronous pool in this thread, unless it is to use RMM.

    Without it every page and every temporary is a `cudaMalloc`, which waits for the GPU. The
    setting stays when the call is over: memory goes back to where it came from. The pool keeps what
    is freed, or else it would be mapped anew after each time that the GPU is waited for.
    """
    if device != "cuda":
        return
    xgboost = load("xgboost")
    if xgboost.get_config()["use_rmm"]:
        return
    try:
        xgboost.set_config(use_cuda_async_pool=True)
    except xgboost.core.XGBoostError:
        # No GPU, or one without a pool: where it trains is asked afterwards. What failed is
        # kept, and would fail again in whatever reads the settings.
        xgboost.set_config(use_cuda_async_pool=False)
    else:
        devices.keep_freed_memory()
