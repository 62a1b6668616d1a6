"""Higgs bosons among 11 million collisions: the usual size test of boosted trees."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

higgs = dataset("higgs")


def logistic(seed: int) -> Pipeline:
    """Logistic regression on scaled measures."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def boosting(seed: int) -> Pipeline:
    """Gradient boosting on histograms of 256 bins."""
    return make_pipeline(
        StandardScaler(),
        XGBClassifier(n_estimators=100, max_depth=8, learning_rate=0.1, random_state=seed),
    )


TASK = Task(
    name="higgs",
    title=higgs.TITLE,
    dataset="higgs",
    prepare=higgs.prepare,
    features=higgs.MEASURES,
    target=higgs.TARGET,
    pipelines={"logistic": logistic, "boosting": boosting},
    splits={"random": Split([("fold", "<", 90)], [("fold", ">=", 90)], "train nine tenths")},
    metrics=["roc_auc", "neg_log_loss"],
    margins={"roc_auc": 0.001, "log_loss": 0.002},
    licence=higgs.LICENCE,
    source=higgs.SOURCE,
)
