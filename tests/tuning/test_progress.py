"""What a search says: each trial, the best one and the time left; and nothing with verbose=0."""

from __future__ import annotations

import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from rich.console import Console
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression

from pipeline import Search
from pipeline.system import progress
from pipeline.tuning.evaluate import Judged
from pipeline.tuning.progress import Lines
from pipeline.tuning.results import Outcome
from tests.commands import Tty

X, Y = make_classification(n_samples=60, random_state=0)
C = {"C": FloatDistribution(1e-3, 1e2, log=True)}


def ended(number: int, score: float, state: str = "complete", reason: str = "") -> Outcome:
    return Outcome(number, {}, {0: Judged(score)}, state, reason)


def lines_of(outcomes: list[Outcome], **settings: Any) -> list[str]:
    """Return what is said of trials, each of which takes a minute and a half."""
    said: list[str] = []
    times = iter(range(0, 90 * (len(outcomes) + 1), 90))
    lines = Lines(said.append, clock=lambda: next(times), **settings)
    for outcome in outcomes:
        lines.tell(outcome)
    return said


def test_each_line_says_what_came_of_a_trial() -> None:
    outcomes = [
        ended(0, np.nan, "failed", "ValueError: too small\nand more"),
        ended(1, 0.912347),
        ended(3, np.nan, "pruned", "after fold 2: 1% chance"),
        ended(2, 0.98),
    ]
    assert lines_of(outcomes, trials=50) == [
        "1 of 50, trial 0: failed, ValueError: too small; 1 min 30 s, 1 h 13 min left",
        "2 of 50, trial 1: 0.91235; best 0.91235 (trial 1); 3 min 0 s, 1 h 12 min left",
        "3 of 50, trial 3: stopped after fold 2: 1% chance; best 0.91235 (trial 1); "
        "4 min 30 s, 1 h 10 min left",
        "4 of 50, trial 2: 0.98; best 0.98 (trial 2); 6 min 0 s, 1 h 9 min left",
    ]


def test_no_more_time_is_left_than_the_timeout_leaves() -> None:
    outcomes = [ended(0, 0.5), ended(1, 0.4), ended(2, 0.3)]
    said = lines_of(outcomes, trials=50, timeout=200.0)
    assert [line.rpartition(", ")[2] for line in said] == [
        "1 min 50 s left", "20 s left", "0.0 s left",
    ]  # fmt: skip
    assert lines_of(outcomes, trials=3)[-1].endswith("4 min 30 s, 0.0 s left")


def test_trials_of_before_count() -> None:
    before = [ended(0, 0.9), ended(1, np.nan, "failed", "why")]
    assert lines_of([ended(2, 0.8)], trials=4, before=before) == [
        "3 of 4, trial 2: 0.8; best 0.9 (trial 0); 1 min 30 s, 1 min 30 s left"
    ]


def test_a_search_says_a_line_for_each_trial(capsys: pytest.CaptureFixture[str]) -> None:
    search = Search(LogisticRegression(), C, trials=5, cv=3, random_state=0, verbose=1).fit(X, Y)
    *_, last = lines = capsys.readouterr().out.splitlines()
    assert [re.match(r"(\d) of 5, trial (\d): ", line)[0] for line in lines] == [
        f"{number + 1} of 5, trial {number}: " for number in range(5)
    ]
    assert f"best {search.best_score_:.5g} (trial {search.best_index_})" in last


def test_a_search_that_goes_on_counts_from_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = {"cv": 3, "random_state": 0, "storage": tmp_path / "study", "prune": False}
    first = Search(LogisticRegression(), C, trials=3, **kept).fit(X, Y)
    again = Search(LogisticRegression(), C, trials=5, verbose=1, **kept).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["4 of 5, trial 3", "5 of 5, trial 4"]
    assert first.cv_results_["params"] == again.cv_results_["params"][:3]
    for name in ("mean_test_score", "mean_fit_time", "state"):
        assert first.cv_results_[name].tolist() == again.cv_results_[name][:3].tolist()


def test_nothing_is_said_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Search(LogisticRegression(), C, trials=12, cv=3, random_state=0).fit(X, Y)
    assert capfd.readouterr() == ("", "")
    assert told == []


def test_failures_are_one_warning() -> None:
    space = {"C": FloatDistribution(-1, 1)}
    with pytest.warns(FitFailedWarning, match="of 8 trials failed, the first one with: .*'C'"):
        search = Search(LogisticRegression(), space, trials=8, cv=3, random_state=0).fit(X, Y)
    failed = search.cv_results_["state"] == "failed"
    assert 0 < failed.sum() < 8
    assert all("'C' parameter" in reason for reason in search.cv_results_["reason"][failed])
    assert np.isnan(search.cv_results_["mean_test_score"][failed]).all()
    assert search.cv_results_["rank_test_score"][failed].min() > (~failed).sum()


def test_a_terminal_has_a_line_that_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Tty()
    console = partial(Console, file=out, force_terminal=True, width=120)
    monkeypatch.setattr(progress, "Console", console)
    Search(LogisticRegression(), C, trials=3, cv=3, random_state=0, verbose=1).fit(X, Y)
    assert "search, 3 of 3, trial 2" in out.getvalue()
    assert "3/3" in out.getvalue()
