"""Hand-written digits: nearest neighbours and a support vector machine on their pixels."""

from __future__ import annotations

from scipy.stats import randint
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

digits = dataset("digits")


def neighbours(seed: int) -> Pipeline:
    """Five nearest neighbours in the space of the 30 main components."""
    return make_pipeline(
        PCA(n_components=30, svd_solver="full", random_state=seed),
        KNeighborsClassifier(n_neighbors=5),
    )


def vectors(seed: int) -> Pipeline:
    """Support vector machine with radial basis functions."""
    return make_pipeline(MinMaxScaler(), SVC(C=10, gamma=0.05, random_state=seed))


def logistic(seed: int) -> Pipeline:
    """Multinomial logistic regression on the pixels."""
    return make_pipeline(MinMaxScaler(), LogisticRegression(C=1.0, max_iter=500))


TASK = Task(
    name="digits",
    title=digits.TITLE,
    kind="multiclass",
    dataset="digits",
    prepare=digits.prepare,
    features=digits.PIXELS,
    target=digits.TARGET,
    pipelines={"neighbours": neighbours, "vectors": vectors, "logistic": logistic},
    splits={"random": Split([("fold", "<", 75)], [("fold", ">=", 75)], "train three quarters")},
    metrics={
        "accuracy": "accuracy",
        "macro_f1": "f1_macro",
        "log_loss": "neg_log_loss",
    },
    margins={"accuracy": 0.01, "macro_f1": 0.01, "log_loss": 0.01},
    licence=digits.LICENCE,
    source=digits.SOURCE,
    spaces={
        "neighbours": {
            "pca__n_components": randint(10, 61),
            "kneighborsclassifier__n_neighbors": randint(1, 21),
            "kneighborsclassifier__weights": ["uniform", "distance"],
        },
    },
)
