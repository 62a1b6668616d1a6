"""Twenty newsgroups: TF-IDF with a linear model and with naive Bayes."""

from __future__ import annotations

from scipy.stats import loguniform
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

newsgroups = dataset("newsgroups")


def logistic(seed: int) -> Pipeline:
    """Multinomial logistic regression on weighted words."""
    return make_pipeline(words(), LogisticRegression(C=10, max_iter=300))


def bayes(seed: int) -> Pipeline:
    """Naive Bayes on weighted words."""
    return make_pipeline(words(), MultinomialNB(alpha=0.1))


def words() -> TfidfVectorizer:
    """Words that at least three messages have, weighted by their rarity."""
    return TfidfVectorizer(min_df=3, sublinear_tf=True)


WORDS = {
    "tfidfvectorizer__min_df": [1, 2, 3, 5, 10],
    "tfidfvectorizer__sublinear_tf": [False, True],
}

TASK = Task(
    name="newsgroups",
    title=newsgroups.TITLE,
    kind="multiclass",
    dataset="newsgroups",
    prepare=newsgroups.prepare,
    features="text",
    target=newsgroups.TARGET,
    pipelines={"logistic": logistic, "bayes": bayes},
    splits={"time": Split([("later", "==", 0)], [("later", "==", 1)], "train the earlier part")},
    metrics={
        "accuracy": "accuracy",
        "macro_f1": "f1_macro",
        "log_loss": "neg_log_loss",
    },
    margins={"accuracy": 0.005, "macro_f1": 0.005, "log_loss": 0.01},
    licence=newsgroups.LICENCE,
    source=newsgroups.SOURCE,
    spaces={
        "logistic": {**WORDS, "logisticregression__C": loguniform(0.01, 1000)},
        "bayes": {**WORDS, "multinomialnb__alpha": loguniform(1e-3, 10)},
    },
)
