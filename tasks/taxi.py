"""Yellow taxis in New York: how many minutes a trip takes."""

from __future__ import annotations

from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from xgboost import XGBRegressor

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

taxi = dataset("taxi")
NUMBERS, ZONES = ["pickup", "weekday", "miles", "passengers"], ["from_zone", "to_zone"]


def linear(seed: int) -> Pipeline:
    """Ridge regression on scaled numbers and zones as their mean durations."""
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
            (make_pipeline(by_mean(seed), StandardScaler()), ZONES),
        ),
        Ridge(random_state=seed),
    )


def boosting(seed: int) -> Pipeline:
    """Gradient boosting on numbers and zones as their mean durations."""
    return make_pipeline(
        make_column_transformer(("passthrough", NUMBERS), (by_mean(seed), ZONES)),
        XGBRegressor(n_estimators=100, max_depth=8, learning_rate=0.2, random_state=seed),
    )


def by_mean(seed: int) -> TargetEncoder:
    """Zones as the mean of their target, cross-fitted on the same folds each time."""
    return TargetEncoder(target_type="continuous", cv=KFold(5, shuffle=True, random_state=seed))


TASK = Task(
    name="taxi",
    title=taxi.TITLE,
    kind="regression",
    dataset="taxi",
    prepare=taxi.prepare,
    features=NUMBERS + ZONES,
    target=taxi.TARGET,
    pipelines={"linear": linear, "boosting": boosting},
    splits={"time": Split([("month", "<=", 2)], [("month", ">", 2)], "train January, February")},
    metrics=["r2", "neg_mean_absolute_error"],
    margins={"r2": 0.002, "mean_absolute_error": 0.02},
    licence=taxi.LICENCE,
    source=taxi.SOURCE,
)
