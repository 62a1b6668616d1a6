"""Which candidates are looked at with a share of their trees."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier

from pipeline import Accelerated, Search
from pipeline.tuning.evaluate import Evaluation, Judged, Task
from pipeline.tuning.first_look import SHARE, cut_trees, look_share
from pipeline.tuning.racing import Racing

MODELS: dict[str, tuple[Any, bool]] = {
    "XGBoost": (XGBClassifier(), True),
    "XGBoost of samples": (XGBRegressor(n_estimators=16, subsample=0.5), True),
    "forest": (RandomForestClassifier(random_state=0), True),
    "trees": (ExtraTreesRegressor(random_state=0), True),
    "few": (XGBClassifier(n_estimators=15), False),
    "few of a forest": (RandomForestClassifier(15, random_state=0), False),
    "early stopping": (XGBClassifier(early_stopping_rounds=5), False),
    "dart": (XGBClassifier(booster="dart"), False),
    "a forest of XGBoost": (XGBRFClassifier(), False),
    "no seed": (RandomForestClassifier(), False),
    "no trees": (LogisticRegression(), False),
}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_what_grows_tree_after_tree_is_looked_at(name: str, wrapped: bool) -> None:
    model, looks = MODELS[name]
    if wrapped:
        model = Accelerated(make_pipeline(StandardScaler(), model), device="cpu")
    assert look_share(of(Racing()), model, {}) == (SHARE if looks else 1)
    assert look_share(of(optuna.pruners.MedianPruner()), model, {}) == 1


def test_the_parameters_of_the_candidate_decide() -> None:
    model, study = XGBClassifier(), of(Racing())
    assert look_share(study, model, {"n_estimators": 8}) == 1
    assert look_share(study, model, {"booster": "dart"}) == 1
    assert look_share(study, model, {"none": 3}) == 1  # the fit says what is wrong
    assert model.get_params() == XGBClassifier().get_params()


@pytest.mark.parametrize(("asked", "left"), [(100, 12), (16, 2), (None, 12)])
def test_a_share_of_the_trees_is_left(asked: int | None, left: int) -> None:
    model = make_pipeline(StandardScaler(), XGBClassifier(n_estimators=asked))
    cut_trees(model, SHARE)
    assert model[-1].n_estimators == left


class Killed(BaseException):
    """What ends a search at once."""


@pytest.mark.slow
def test_a_search_goes_on_after_a_look_as_if_it_had_not_been_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    space = {
        "learning_rate": FloatDistribution(1e-3, 1, log=True),
        "max_depth": IntDistribution(1, 6),
    }
    ran: list[tuple[int, int, float]] = []
    own = Evaluation._run

    def run(self: Evaluation, task: Task) -> Judged:
        ran.append((task.trial, task.fold, task.share))
        if len(ran) in kills:
            raise Killed
        return own(self, task)

    def searched(file: str) -> Any:
        model = XGBClassifier(n_estimators=24, max_depth=2, n_jobs=1)
        asked: dict[str, Any] = {"trials": 24, "cv": 3, "refit": False, "random_state": 0}
        search = Search(model, space, scoring="neg_log_loss", storage=tmp_path / file, **asked)
        while True:
            with suppress(Killed):
                return [
                    (each.params, each.intermediate_values, each.state)
                    for each in search.fit(X, y).study_.trials
                ]

    monkeypatch.setattr(Evaluation, "_run", run)
    kills: set[int] = set()
    whole, tasks = searched("whole"), len(ran)
    assert {0} in [set(values) for _, values, _ in whole]
    ran.clear()
    kills = {2, 5, 30, 41, tasks - 3}
    assert searched("killed") == whole
    assert len(ran) == tasks + len(kills)
    assert len(set(ran)) == tasks


def of(pruner: Any) -> optuna.Study:
    return optuna.create_study(pruner=pruner)
