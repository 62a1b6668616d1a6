"""What tells nothing must not look as if it did: no row is judged by what has seen its label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import IntDistribution
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from xgboost import XGBClassifier

from pipeline import Accelerated, Search

N, SEEDS, FOLDS = 600, 8, StratifiedKFold(3, shuffle=True, random_state=0)
CHANCE = 0.5 + 3 * ((N + 1) / (12 * (N / 2) ** 2) / SEEDS) ** 0.5
"""Three standard errors above chance: of a rank sum, in so many independent samples."""


def noise(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return labels by a coin, a name for about every third row, and numbers that are drawn."""
    rng = np.random.default_rng(seed)
    names = pd.Categorical(rng.integers(0, N // 3, N).astype(str))
    X = pd.DataFrame({"name": names, **{f"x{i}": rng.normal(size=N) for i in range(4)}})
    return X, rng.permutation(np.repeat([0, 1], N // 2))


def program() -> Any:
    rest = [f"x{i}" for i in range(4)]
    encoder = TargetEncoder(cv=StratifiedKFold(3, shuffle=True, random_state=0))
    columns = make_column_transformer((encoder, ["name"]), ("passthrough", rest))
    last = XGBClassifier(
        n_estimators=60, early_stopping_rounds=30, eval_metric="auc", max_depth=3, n_jobs=1
    )
    return make_pipeline(columns, last)


def honest(X: pd.DataFrame, y: np.ndarray) -> float:
    """Return the mean score of the candidates of a search."""
    space = {"estimator__xgbclassifier__max_depth": IntDistribution(2, 4)}
    model = Accelerated(program(), device="cpu")
    asked: dict[str, Any] = {"trials": 2, "cv": FOLDS, "scoring": "roc_auc", "prune": False}
    found = Search(model, space, refit=False, random_state=0, **asked).fit(X, y)
    return float(np.mean(found.cv_results_["mean_test_score"]))


def leaky(X: pd.DataFrame, y: np.ndarray, *, encoded_first: bool) -> float:
    """Return the score as it comes out where the fold itself tells when to stop.

    With `encoded_first`, all rows have been encoded before they were split, too.
    """
    scores = []
    for train, test in FOLDS.split(X, y):
        prefix, last = (clone(part) for part in (program()[0], program()[-1]))
        of = np.arange(N) if encoded_first else train
        made, fold = prefix.fit(X.iloc[of], y[of]).transform(X.iloc[train]), X.iloc[test]
        if not encoded_first:
            made = prefix.fit_transform(X.iloc[train], y[train])
        judged = prefix.transform(fold)
        last.fit(made, y[train], eval_set=[(judged, y[test])], verbose=False)
        scores.append(roc_auc_score(y[test], last.predict_proba(judged)[:, 1]))
    return float(np.mean(scores))


@pytest.mark.slow
def test_noise_does_not_beat_chance_and_would_if_anything_leaked() -> None:
    tables = [noise(seed) for seed in range(SEEDS)]
    assert np.mean([honest(*each) for each in tables]) < CHANCE
    assert np.mean([leaky(*each, encoded_first=False) for each in tables]) > CHANCE
    assert np.mean([leaky(*each, encoded_first=True) for each in tables]) > 0.6
