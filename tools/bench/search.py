"""`Search` beside as many full trials, and beside other searches that have the same time."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from datasets import flights
from pipeline import Accelerated, Search
from tasks.flights import TASK
from tools.bench import by_hand_search, record, search_report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Report, Run, Variant
from tools.bench.search_report import BY_HAND, FULL, HALVING, PRUNED, SECONDS, TRIALS, after

FOLDS, TREES = 5, 100
MANY = 1_000_000
"""Trials, where the time ends a search."""
STEP = "xgbclassifier__"
SPACE = {
    f"{STEP}learning_rate": FloatDistribution(0.01, 0.3, log=True),
    f"{STEP}max_depth": IntDistribution(3, 10),
    f"{STEP}min_child_weight": FloatDistribution(0.5, 50, log=True),
    f"{STEP}subsample": FloatDistribution(0.5, 1),
    f"{STEP}colsample_bytree": FloatDistribution(0.3, 1),
    f"{STEP}reg_lambda": FloatDistribution(0.01, 100, log=True),
}
"""That of `by_hand_search` too."""


@dataclass(frozen=True)
class Rows:
    """The rows that are searched on, and others, with the seed of a search.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
    X_held_out, y_held_out : the same of rows that no search sees
    seed : int
        Of the folds, the estimator and the candidates.
    """

    X: pd.DataFrame
    y: np.ndarray
    X_held_out: pd.DataFrame
    y_held_out: np.ndarray
    seed: int

    @classmethod
    def draw(cls, table: pd.DataFrame, rows: int, held_out: int, seed: int) -> Rows:
        """Draw rows of the flights; fewer are held out where there are no more."""
        order = np.random.default_rng(seed).permutation(len(table))
        parts = (table.iloc[each] for each in np.split(order[: rows + held_out], [rows]))
        X, other = (each.reset_index(drop=True) for each in parts)
        names, y = list(TASK.features), TASK.target
        return cls(X[names], X[y].to_numpy(), other[names], other[y].to_numpy(), seed)

    @property
    def folds(self) -> StratifiedKFold:
        """The folds that all searches judge by."""
        return StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)

    @property
    def pipeline(self) -> Pipeline:
        """What is searched, in plain scikit-learn."""
        made = TASK.pipelines["boosting"](self.seed)
        return made.set_params(**{f"{STEP}n_estimators": TREES})

    def judge(self, params: dict[str, Any]) -> float:
        """Return the AUC on the rows held out of a candidate that is fitted on all others."""
        model = self.pipeline.set_params(**params).fit(self.X, self.y)
        return float(roc_auc_score(self.y_held_out, model.predict_proba(self.X_held_out)[:, 1]))


class Candidate(NamedTuple):
    """A candidate that a search has judged."""

    at: float
    """Seconds after the search has begun."""
    score: float | None
    """The mean over the folds; None where it is not that of all rows."""
    params: dict[str, Any]
    """Of the pipeline."""


def incumbents(candidates: Sequence[Candidate], seconds: float = np.inf) -> list[Candidate]:
    """Return those that were the best so far when they were judged, within the time."""
    best: list[Candidate] = []
    for each in sorted(candidates, key=lambda candidate: candidate.at):
        if each.at <= seconds and (not best or (each.score or 0) > (best[-1].score or 0)):
            best.append(each)
    return best


def ours(rows: Rows, *, prune: bool = True, trials: int = MANY, seconds: float | None = None,
         sampler: Any = None, jobs: int | None = None) -> Search:  # fmt: skip
    """Return a `Search` that was not yet fitted.

    Parameters
    ----------
    rows : Rows
    prune : bool
    trials : int
    seconds : float, optional
        After which no further fit is begun.
    sampler : optuna.samplers.BaseSampler, optional
    jobs : int, optional
        Threads of XGBoost.
    """
    pipeline = rows.pipeline.set_params(**{f"{STEP}n_jobs": jobs})
    return Search(
        Accelerated(pipeline, device="cpu"),
        {f"estimator__{name}": each for name, each in SPACE.items()},
        trials=trials, timeout=seconds, cv=rows.folds, scoring="roc_auc", prune=prune,
        refit=False, sampler=sampler, random_state=rows.seed,
    )  # fmt: skip


def completed(search: Search, began: datetime) -> list[Candidate]:
    """Return the candidates of a `Search` that were judged by all folds."""
    found, trials = search.cv_results_, search.study_.get_trials(deepcopy=False)
    return [
        Candidate(
            (trials[number].datetime_complete - began).total_seconds(),
            float(score),
            {name.removeprefix("estimator__"): value for name, value in params.items()},
        )
        for number, state, score, params in zip(
            found["trial"], found["state"], found["mean_test_score"], found["params"], strict=True
        )
        if state == "complete"
    ]


def _trials(rows: Rows, counts: Sequence[int], variant: str) -> Report:
    """Let all candidates of a search be judged, stopped early or not.

    What a search of fewer trials finds, and when, is read off the longest one: it begins alike.
    """
    search, began = ours(rows, prune=variant == PRUNED, trials=max(counts)), datetime.now()
    start = time.perf_counter()
    search.fit(rows.X, rows.y)
    seconds = time.perf_counter() - start
    candidates, values = completed(search, began), dict[str, float | None]()
    for count in counts:
        ends = _seconds_until(search, began, count)
        found = [each for each in candidates if each.at <= ends]
        best = incumbents(found)[-1]
        known = {"seconds": ends, "complete": len(found), "score": best.score,
                 "held out": rows.judge(best.params)}  # fmt: skip
        values |= {after(name, count): value for name, value in known.items()}
    return Report(run=Run(seconds={"search": seconds}), values=values)


def _seconds_until(search: Search, began: datetime, count: int) -> float:
    """Return the seconds after which the first so many trials of a search had ended."""
    ends = (each.datetime_complete for each in search.study_.get_trials(deepcopy=False)[:count])
    return max((each - began).total_seconds() for each in ends)


Found = tuple[int, list[Candidate]]
"""How many candidates a search has judged, and those that were its best ones in turn."""


def _in_time(rows: Rows, seconds: int, find: Callable[[], Found]) -> Report:
    """Let a search end after some seconds; its best candidates are judged when it has."""
    start = time.perf_counter()
    trials, best = find()
    run = Run(seconds={"search": time.perf_counter() - start})
    values: dict[str, float | None] = {"trials": trials}
    for i, each in enumerate(best):
        values |= {f"at {i:02}": each.at, f"score {i:02}": each.score}
        values[f"held out {i:02}"] = rows.judge(each.params)
    return Report(run=run, values=values)


def _find_ours(rows: Rows, seconds: int) -> Found:
    began = datetime.now()
    search = ours(rows, seconds=seconds).fit(rows.X, rows.y)
    return len(search.cv_results_["params"]), incumbents(completed(search, began), seconds)


def _find_by_hand(rows: Rows, seconds: int) -> Found:
    began = datetime.now()
    study = by_hand_search.optuna_by_hand(
        rows.pipeline, rows.X, rows.y, rows.folds, seconds, rows.seed
    )
    candidates = [
        Candidate(
            (trial.datetime_complete - began).total_seconds(),
            trial.value,
            {f"{STEP}{name}": value for name, value in trial.params.items()},
        )
        for trial in study.get_trials(deepcopy=False)
    ]
    return len(candidates), incumbents(candidates, seconds)


def _find_by_halving(rows: Rows, candidates: int) -> Found:
    """Return the best candidate of each round, at the end of the round."""
    start = time.perf_counter()
    search = by_hand_search.halving(
        rows.pipeline, rows.X, rows.y, rows.folds, candidates, rows.seed
    )
    whole = time.perf_counter() - start
    found = pd.DataFrame(search.cv_results_)
    found["taken"] = found["mean_fit_time"] + found["mean_score_time"]
    best, at = [], 0.0
    for iteration, each in found.groupby("iter"):
        # Fits are nearly all of it; the rest is spread over them.
        at += whole * float(each["taken"].sum() / found["taken"].sum())
        first = each.sort_values("mean_test_score", ascending=False).to_dict("records")[0]
        score = float(first["mean_test_score"]) if iteration == search.n_iterations_ - 1 else None
        best.append(Candidate(at, score, first["params"]))
    return len(found), best


def _cases(ask: Ask) -> Generator[Case, None, None]:
    table = pd.read_parquet(flights.prepare(ask.data))
    seconds, halved = (ask.one(name) for name in ("seconds", "halving"))
    drawn = Rows.draw(table, ask.one("rows"), ask.one("held_out"), ask.seed)
    for seed in range(ask.seed, ask.seed + ask.repeats):
        rows = replace(drawn, seed=seed)
        facts: dict[str, int | float]
        facts = {"rows": len(rows.X), "held out": len(rows.X_held_out), "seed": seed}
        full = {way: partial(_trials, rows, ask.settings["trials"], way) for way in (FULL, PRUNED)}
        timed = {
            PRUNED: partial(_in_time, rows, seconds, partial(_find_ours, rows, seconds)),
            BY_HAND: partial(_in_time, rows, seconds, partial(_find_by_hand, rows, seconds)),
            HALVING: partial(_in_time, rows, seconds, partial(_find_by_halving, rows, halved)),
        }
        for name, works in ((TRIALS, full), (SECONDS, timed)):
            if ask.wants(name):
                yield Case(
                    record.Case(name=f"{name}, seed {seed}", facts=facts),
                    {way: here(work) for way, work in works.items()},
                    most_repeats=1,
                    warms_up=False,
                )


CLAIM = Claim(
    folder="search-cpu",
    settings={
        "rows": (20_000,), "held_out": (50_000,), "trials": (40, 100), "seconds": (20,),
        "halving": (25,),
    },
    repeats=5,
    cases=_cases,
    names=(TRIALS, SECONDS),
    variants=[
        Variant(name=PRUNED, title="`Search`"),
        Variant(name=FULL, title="`Search(prune=False)`"),
        Variant(name=BY_HAND, title="Optuna by hand"),
        Variant(name=HALVING, title="`HalvingRandomSearchCV`"),
    ],
    clock=(
        f"boosting of {TREES} trees on {{rows}} flights, {FOLDS} folds, without a refit, each with "
        "a seed of its own; held out: AUC of the best candidate, fitted on all of these rows, on "
        "{held_out} others"
    ),
    isolation="one process",
    notes=search_report.text,
)  # fmt: skip
