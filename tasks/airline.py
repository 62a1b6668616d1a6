"""All flights within the United States in 2019, or in more years: which ones arrive late."""

from __future__ import annotations

from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from xgboost import XGBClassifier

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

airline = dataset("airline")
NUMBERS, AIRPORTS = list(airline.NUMBERS), ["origin", "dest"]


def logistic(seed: int) -> Pipeline:
    """Linear model on scaled numbers, one-hot airlines and target-encoded airports."""
    return make_pipeline(
        make_column_transformer(
            (StandardScaler(), NUMBERS),
            (OneHotEncoder(handle_unknown="ignore"), ["carrier"]),
            (make_pipeline(by_rate(seed), StandardScaler()), AIRPORTS),
        ),
        LogisticRegression(),
    )


def boosting(seed: int) -> Pipeline:
    """Gradient boosting on numbers and target-encoded categories."""
    return make_pipeline(
        make_column_transformer(("passthrough", NUMBERS), (by_rate(seed), ["carrier", *AIRPORTS])),
        XGBClassifier(n_estimators=100, max_depth=8, learning_rate=0.2, random_state=seed),
    )


def by_rate(seed: int) -> TargetEncoder:
    """Categories as their rate of late flights, cross-fitted on the same folds each time."""
    return TargetEncoder(cv=StratifiedKFold(5, shuffle=True, random_state=seed))


TASK = Task(
    name="airline",
    title=airline.TITLE,
    dataset="airline",
    prepare=airline.prepare,
    features=[*NUMBERS, *airline.CATEGORIES],
    target=airline.TARGET,
    pipelines={"logistic": logistic, "boosting": boosting},
    splits={
        "time": Split(
            [("later", "==", 0)],
            [("later", "==", 1)],
            "test the last quarter",
            time=["year", "month", "day"],
        )  # fmt: skip
    },
    metrics=["roc_auc", "average_precision", "neg_log_loss"],
    margins={"roc_auc": 0.002, "average_precision": 0.004, "log_loss": 0.004},
    licence=airline.LICENCE,
    source=airline.SOURCE,
)
