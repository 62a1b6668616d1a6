"""Card fraud, one payment in 600: class weights, anomaly scores, average precision."""

from __future__ import annotations

from scipy.stats import uniform
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from xgboost import XGBClassifier

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

fraud = dataset("fraud")
RARITY = 578
"""Honest payments for each that is fraud."""


def logistic(seed: int) -> Pipeline:
    """Logistic regression that weighs the classes equally."""
    return make_pipeline(
        RobustScaler(), LogisticRegression(class_weight="balanced", C=0.1, max_iter=1000)
    )


def boosting(seed: int) -> Pipeline:
    """Gradient boosting that weighs a fraud by the root of its rarity."""
    return make_pipeline(
        StandardScaler(),
        XGBClassifier(
            n_estimators=100, max_depth=5, learning_rate=0.1, scale_pos_weight=RARITY**0.5,
            random_state=seed,
        ),
    )  # fmt: skip


def isolation(seed: int) -> Pipeline:
    """Isolation forest, which learns of no fraud what is unusual."""
    return make_pipeline(
        RobustScaler(), IsolationForest(n_estimators=200, n_jobs=-1, random_state=seed)
    )


TASK = Task(
    name="fraud",
    title=fraud.TITLE,
    dataset="fraud",
    prepare=fraud.prepare,
    features=[*fraud.PARTS, "Amount"],
    target=fraud.TARGET,
    pipelines={"logistic": logistic, "boosting": boosting, "isolation": isolation},
    splits={"random": Split([("fold", "<", 70)], [("fold", ">=", 70)], "train seven tenths")},
    metrics=["average_precision", "roc_auc"],
    margins={"average_precision": 0.02, "roc_auc": 0.005},
    licence=fraud.LICENCE,
    source=fraud.SOURCE,
    spaces={
        "isolation": {
            "isolationforest__max_samples": ["auto", 1024, 4096, 16384],
            "isolationforest__max_features": uniform(0.2, 0.8),
        },
    },
)
