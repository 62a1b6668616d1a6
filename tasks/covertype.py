"""Forest cover of Colorado: seven types, by linear models and trees."""

from __future__ import annotations

from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

covertype = dataset("covertype")
MEASURES = list(covertype.MEASURES)


def logistic(seed: int) -> Pipeline:
    """Multinomial logistic regression on scaled measures and flags."""
    return make_pipeline(
        make_column_transformer((StandardScaler(), MEASURES), ("passthrough", covertype.FLAGS)),
        LogisticRegression(max_iter=300),
    )


def forest(seed: int) -> Pipeline:
    """Random forest."""
    return make_pipeline(
        StandardScaler(),
        RandomForestClassifier(n_estimators=50, max_depth=16, n_jobs=-1, random_state=seed),
    )


def boosting(seed: int) -> Pipeline:
    """Gradient boosting."""
    return make_pipeline(
        StandardScaler(),
        XGBClassifier(n_estimators=100, max_depth=8, learning_rate=0.2, random_state=seed),
    )


TASK = Task(
    name="covertype",
    title=covertype.TITLE,
    kind="multiclass",
    dataset="covertype",
    prepare=covertype.prepare,
    features=MEASURES + covertype.FLAGS,
    target=covertype.TARGET,
    pipelines={"logistic": logistic, "forest": forest, "boosting": boosting},
    splits={"random": Split([("fold", "<", 75)], [("fold", ">=", 75)], "train three quarters")},
    metrics={
        "accuracy": "accuracy",
        "macro_f1": "f1_macro",
        "log_loss": "neg_log_loss",
    },
    margins={"accuracy": 0.005, "macro_f1": 0.01, "log_loss": 0.01},
    licence=covertype.LICENCE,
    source=covertype.SOURCE,
)
