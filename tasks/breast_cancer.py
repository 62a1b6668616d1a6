"""Breast tumours: too few rows for a GPU to pay off."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

breast_cancer = dataset("breast_cancer")


def logistic(seed: int) -> Pipeline:
    """Logistic regression on scaled measures."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.5))


def boosting(seed: int) -> Pipeline:
    """Gradient boosting with shallow trees."""
    return make_pipeline(
        StandardScaler(),
        XGBClassifier(n_estimators=50, max_depth=3, learning_rate=0.2, random_state=seed),
    )


TASK = Task(
    name="breast_cancer",
    title=breast_cancer.TITLE,
    dataset="breast_cancer",
    prepare=breast_cancer.prepare,
    features=list(breast_cancer.MEASURES),
    target=breast_cancer.TARGET,
    pipelines={"logistic": logistic, "boosting": boosting},
    splits={"random": Split([("fold", "<", 75)], [("fold", ">=", 75)], "train three quarters")},
    metrics=["roc_auc", "neg_log_loss"],
    margins={"roc_auc": 0.005, "log_loss": 0.01},
    licence=breast_cancer.LICENCE,
    source=breast_cancer.SOURCE,
)
