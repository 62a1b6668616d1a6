"""A good model of generated tables, from columns as they come: the one that is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import TargetEncoder
from xgboost import XGBClassifier

from datasets.synthetic import Recipe

HELD_OUT = 0.1


class WordScores(TransformerMixin, BaseEstimator):
    """The log-odds that naive Bayes gives a text by its words; cross-fitted on what it learns."""

    def fit(self, X: pd.Series, y: np.ndarray) -> WordScores:
        """Learn from texts and classes 0 and 1."""
        self.words_ = CountVectorizer().fit(X.fillna(""))
        self.model_ = MultinomialNB().fit(self.words_.transform(X.fillna("")), y)
        return self

    def fit_transform(self, X: pd.Series, y: np.ndarray, **_: Any) -> np.ndarray:
        """Learn, and score each text by a model that has not seen its row."""
        counts = self.fit(X, y).words_.transform(X.fillna(""))
        return _odds(cross_val_predict(MultinomialNB(), counts, y, method="predict_log_proba"))

    def transform(self, X: pd.Series) -> np.ndarray:
        """Score texts, shape (rows, 1)."""
        return _odds(self.model_.predict_log_proba(self.words_.transform(X.fillna(""))))


def _odds(logs: np.ndarray) -> np.ndarray:
    return np.asarray(logs[:, 1:] - logs[:, :1])


def features(frame: pd.DataFrame, recipe: Recipe) -> pd.DataFrame:
    """Return the columns without the target, with the day of the week of dates for these."""
    X = frame.drop(columns="target")
    for feature in recipe.features():
        if feature.shape == "date":
            X[feature.name] = X[feature.name].dt.weekday
    return X


def learner(recipe: Recipe, seed: int, rounds: int = 2_000) -> Pipeline:
    """Return the unfitted model: encoded categories and texts, then XGBoost.

    Parameters
    ----------
    recipe : Recipe
        Of a table of the kind ``binary``.
    seed : int
        Of the folds of the encoder and of XGBoost.
    rounds : int
        Trees.
    """
    names: dict[str, list[str]] = {"number": [], "category": [], "text": []}
    for feature in recipe.features():
        group = feature.column().kind
        names[group if group in names else "number"].append(feature.name)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    encoder = make_column_transformer(
        ("passthrough", names["number"]),
        (TargetEncoder(cv=folds), names["category"]),
        *((WordScores(), name) for name in names["text"]),
    )
    model = XGBClassifier(
        n_estimators=rounds,
        learning_rate=0.1,
        max_depth=6,
        min_child_weight=20,
        early_stopping_rounds=20,
        eval_metric="auc",
        random_state=seed,
    )
    return make_pipeline(encoder, model)


def fit(model: Pipeline, X: pd.DataFrame, y: np.ndarray) -> int:
    """Fit in place; the last tenth of the rows says when to stop; return the trees kept."""
    encoder, booster = model[0], model[-1]
    kept = int(len(X) * (1 - HELD_OUT))
    inside = encoder.fit_transform(X[:kept], y[:kept])
    outside = encoder.transform(X[kept:]), y[kept:]
    booster.fit(inside, y[:kept], eval_set=[outside], verbose=False)
    return int(booster.best_iteration) + 1
