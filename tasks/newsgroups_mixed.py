"""Twenty newsgroups: TF-IDF beside numbers and a category."""

from __future__ import annotations

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline.task.included import dataset
from pipeline.task.task import Task, load

newsgroups, TEXT = dataset("newsgroups"), load("newsgroups")
NUMBERS = ["words", "lines", "quoted", "capitals"]


def logistic(seed: int) -> Pipeline:
    """Multinomial logistic regression on weighted words, scaled numbers and one-hot columns."""
    return make_pipeline(columns(), LogisticRegression(C=10, max_iter=300))


def trees(seed: int) -> Pipeline:
    """Boosted trees on the same columns."""
    return make_pipeline(columns(), XGBClassifier(n_estimators=100, max_depth=6, random_state=seed))


def columns() -> ColumnTransformer:
    """Return the words of the text beside what is known of the message."""
    rare = OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist")
    return ColumnTransformer(
        [
            ("words", TfidfVectorizer(min_df=3, sublinear_tf=True), "text"),
            ("numbers", StandardScaler(), NUMBERS),
            ("distribution", rare, ["distribution"]),
        ]
    )


TASK = Task(
    name="newsgroups_mixed",
    title=newsgroups.TITLE,
    kind="multiclass",
    dataset="newsgroups",
    prepare=newsgroups.prepare,
    features=["text", *NUMBERS, "distribution"],
    target=newsgroups.TARGET,
    pipelines={"logistic": logistic, "trees": trees},
    splits=TEXT.splits,
    metrics=TEXT.metrics,
    margins=TEXT.margins,
    licence=newsgroups.LICENCE,
    source=newsgroups.SOURCE,
)
