"""What XGBoost's `train` needs of an estimator and of rows that come in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.backends.incremental import Batch
from pipeline.backends.xgboost import handover
from pipeline.data import frames
from pipeline.data.target import classes
from pipeline.errors import DataError
from pipeline.optional import load
from pipeline.typing import Params, Table

if TYPE_CHECKING:
    from xgboost import Booster, DataIter, DMatrix, XGBModel


def iterate(batches: Sequence[Batch], estimator: XGBModel, **options: Any) -> DataIter:
    """Return what XGBoost asks for one batch after the other; the options are `DataIter`'s."""

    class Iterator(load("xgboost.DataIter")):  # type: ignore[misc]
        def __init__(self) -> None:
            self.at = 0
            super().__init__(**options)

        def reset(self) -> None:
            self.at = 0

        def next(self, input_data: Callable[..., None]) -> bool:
            if self.at == len(batches):
                return False
            batch = batches[self.at]
            input_data(
                data=handover.prepare(_move(batch.read(), estimator)),
                label=_move(batch.y, estimator),
                weight=_move(batch.sample_weight, estimator),
                feature_types=estimator.feature_types,
                feature_weights=estimator.feature_weights,
            )
            self.at += 1
            return True

    return Iterator()


def _move(table: Table, estimator: XGBModel) -> Any:
    return None if table is None else frames.to_device(table, estimator.device)


def train_booster(
    estimator: XGBModel, params: Params, matrix: DMatrix, xgb_model: Booster | None = None
) -> Booster:
    """Return the booster that an estimator's `fit` would train on a matrix.

    The parameters are those of `find_params`; `xgb_model` is a booster to go on from.
    """
    booster: Booster = load("xgboost.train")(
        params, matrix, xgb_model=xgb_model, **options(estimator)
    )
    return booster


def options(estimator: XGBModel) -> dict[str, Any]:
    """Return the options of `xgboost.train`, and of `xgboost.dask.train`, beside the parameters."""
    objective = estimator.objective
    return {
        "num_boost_round": estimator.get_num_boosting_rounds(),
        "obj": _adapt(objective) if callable(objective) else None,
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
    """Refuse labels that are not 0, 1, …, n - 1.

    Raises
    ------
    DataError
        The estimator is a classifier, and these are not its labels.
    """
    if not hasattr(estimator, "predict_proba") or (y.ndim == 2 and y.shape[1] > 1):
        return
    labels = classes(y)
    if not np.array_equal(labels, np.arange(len(labels))):
        raise DataError(
            f"{type(estimator).__name__} takes the classes 0, 1, …, n - 1 and y holds "
            f"{labels.tolist()[:9]}; pass LabelEncoder().fit_transform(y)"
        )


def _adapt(objective: Callable[..., Any]) -> Callable[[np.ndarray, DMatrix], Any]:
    """Return an objective in the form of scikit-learn's metrics as `xgboost.train` calls it."""

    def adapted(answers: np.ndarray, matrix: DMatrix) -> Any:
        weights = matrix.get_weight()
        known = {"sample_weight": weights} if weights.size else {}
        return objective(matrix.get_label(), answers, **known)

    return adapted
