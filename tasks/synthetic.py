"""Generated table of mixed columns, of any length: how close a model comes to the best score.

No model can reach a higher AUC on new rows than `BEST`, which docs/datasets.md derives. The
column of texts is left out here, so the attainable score is slightly lower.
"""

from __future__ import annotations

from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler, TargetEncoder
from xgboost import XGBClassifier

from pipeline import CalendarFeatures
from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

synthetic = dataset("synthetic")
tables = dataset("synthetic.tables")
NUMBERS, FEW, MANY = synthetic.NUMERIC, synthetic.LOW_CARDINALITY, synthetic.HIGH_CARDINALITY
BEST = 0.8626


def logistic(seed: int) -> Pipeline:
    """Linear model on products of the numbers, one-hot and target-encoded categories, weekends."""
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(2)), NUMBERS),
            (OneHotEncoder(handle_unknown="ignore"), FEW),
            (make_pipeline(by_rate(seed), StandardScaler()), MANY),
            (make_pipeline(CalendarFeatures(["is_weekend"]), SimpleImputer()), synthetic.DATES),
        ),
        LogisticRegression(max_iter=300),
    )


def boosting(seed: int) -> Pipeline:
    """Gradient boosting on numbers, target-encoded categories and the day of the week."""
    return make_pipeline(
        make_column_transformer(
            ("passthrough", NUMBERS),
            (by_rate(seed), FEW + MANY),
            (CalendarFeatures(["weekday"]), synthetic.DATES),
        ),
        XGBClassifier(n_estimators=60, max_depth=4, learning_rate=0.2, random_state=seed),
    )


def by_rate(seed: int) -> TargetEncoder:
    """Categories as their rate of class 1, cross-fitted on the same folds each time."""
    return TargetEncoder(cv=StratifiedKFold(5, shuffle=True, random_state=seed))


TASK = Task(
    name="synthetic",
    title=f"Generated table of mixed columns; the best attainable AUC is {BEST}",
    dataset="synthetic",
    prepare=tables.binary,
    features=[*NUMBERS, *FEW, *MANY, *synthetic.DATES],
    target=synthetic.TARGET,
    pipelines={"logistic": logistic, "boosting": boosting},
    splits={"random": Split([("fold", "<", 75)], [("fold", ">=", 75)], "train three quarters")},
    metrics=["roc_auc", "average_precision", "neg_log_loss"],
    margins={"roc_auc": 0.003, "average_precision": 0.005, "log_loss": 0.005},
    licence=synthetic.LICENCE,
    source=synthetic.SOURCE,
)
