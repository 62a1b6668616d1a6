"""A search whose scores are planted: who is paused, who goes on in the last round, and who wins."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.distributions import IntDistribution
from optuna.pruners import MedianPruner
from sklearn.base import BaseEstimator

from pipeline.tuning import race
from pipeline.tuning.evaluate import Judged, Task
from pipeline.tuning.progress import Lines
from pipeline.tuning.race import Listener, Race
from pipeline.tuning.racing import Racing, first_fold, pruner_of
from pipeline.tuning.results import Outcome
from pipeline.tuning.space import Space
from pipeline.tuning.study import open_study

FOLDS = np.array([0.70, 0.74, 0.71, 0.73, 0.72])
"""What is easy or hard of the folds, for all candidates alike."""
LATE = 7
"""The candidate that is the best one, and not on its first fold."""


def planted() -> np.ndarray:
    """Return the scores of 12 candidates, of shape (12, 5)."""
    level = np.array([0, -0.004, *[-0.02] * 10])
    scores = FOLDS + level[:, None] + np.random.default_rng(0).normal(0, 0.002, (12, 5))
    scores[LATE] = scores[0] + 0.006
    scores[LATE, first_fold(LATE, 5)] = scores[0, first_fold(LATE, 5)] - 0.0005
    return scores


class Chosen(BaseEstimator):
    """A candidate that is a number."""

    def __init__(self, n: int = 0) -> None:
        self.n = n


class Stop(BaseException):
    """What ends a search as a kill does."""


class Planted:
    """Slots in which the scores of the candidates are known beforehand.

    Parameters
    ----------
    scores : array of shape (n_trials, n_folds)
    most : int
        Tasks that run at once.
    kill_after : int, optional
        So many tasks.
    by : type, optional
        What is raised then.
    """

    def __init__(
        self,
        scores: np.ndarray,
        most: int = 1,
        kill_after: int = 10**9,
        by: type[BaseException] = Stop,
    ) -> None:
        self.scores, self.most, self.left, self.by = scores, most, kill_after, by
        self.waiting: list[Task] = []
        self.ran: list[tuple[int, int]] = []
        self.together = 0

    @property
    def free(self) -> int:
        return self.most - len(self.waiting)

    def submit(self, task: Task) -> None:
        self.waiting.append(task)

    def wait(self, seconds: float | None) -> list[tuple[Task, Judged]]:
        if not self.left:
            raise self.by
        self.left -= 1
        self.together = max(self.together, len(self.waiting))
        task = self.waiting.pop(0)
        self.ran.append((task.trial, task.fold))
        score = float(self.scores[task.params["n"], task.fold])
        return [(task, Judged(score, error="" if np.isfinite(score) else "ValueError: planted"))]


def run(
    slots: Planted,
    path: Path | None = None,
    pruner: Any = True,
    said: list[str] | None = None,
    trials: int | None = None,
    **settings: Any,
) -> list[Outcome]:
    """Run a search whose trial n is candidate n; return what is known of the trials."""
    n = len(slots.scores)
    space = Space.of({"n": IntDistribution(0, 99)}, Chosen())
    said = [] if said is None else said
    lines = Lines(lambda line, steps=1: said.append(line), n)
    settings = {"timeout": None, "seed": 0, **settings}
    with open_study(path, lambda: {"of": "a test"}, pruner_of(pruner)) as study:
        if not study.trials:
            for number in range(n):
                study.enqueue_trial({"n": number})
        listener = Listener(lambda task: None, lines.tell)
        one = Race(
            study, space, slots, 5, listener, trials=trials or n, own={}, look=lambda params: 1.0,
            **settings,
        )  # fmt: skip
        one.run()
        states = {"complete": "COMPLETE", "pruned": "PRUNED", "failed": "FAIL"}
        outcomes = [one.outcomes[number] for number in sorted(one.outcomes)]
        for outcome, trial in zip(outcomes, study.trials, strict=False):
            assert trial.state.name == states.get(outcome.state, "RUNNING")
            assert trial.user_attrs.get("reason", "") == outcome.reason
        return outcomes


def told(outcomes: list[Outcome]) -> list[Any]:
    """Return what is known of trials, without the times."""
    return [(each.number, each.state, each.reason, sorted(each.folds)) for each in outcomes]


def test_a_candidate_that_was_stopped_at_its_first_fold_wins_in_the_last_round() -> None:
    slots, said = Planted(planted()), list[str]()
    found = run(slots, said=said)
    assert planted().mean(1).argmax() == LATE
    assert max(found, key=lambda each: np.nan_to_num(each.score)).number == LATE
    assert found[LATE].score == planted()[LATE].mean()
    # It went on when all others had been begun, and no fold ran twice.
    order = [trial for trial, _ in slots.ran]
    assert order.index(LATE) < order.index(11) < len(order) - 4
    assert order[-4:] == [LATE] * 4
    assert len(set(slots.ran)) == len(slots.ran) < 30


def test_each_trial_is_counted_once_and_what_goes_on_has_a_line_more() -> None:
    said: list[str] = []
    found = run(Planted(planted()), said=said)
    first, again = said[:12], said[12:]
    assert [line.partition(":")[0] for line in first] == [
        f"{number + 1} of 12, trial {number}" for number in range(12)
    ]
    assert f"trial {LATE}: stopped after 1 of 5 folds: " in first[LATE]
    (line,) = again
    assert line.startswith(f"12 of 12, trial {LATE} went on: {found[LATE].score:.5g}; best ")
    assert "left" not in line


def test_what_does_not_go_on_ends_as_stopped_with_its_reason() -> None:
    found = run(Planted(planted()))
    states = [each.state for each in found]
    assert [number for number in range(12) if states[number] == "complete"] == [0, LATE]
    assert set(states) == {"complete", "pruned"}
    for each in found:
        done = f"after {len(each.folds)} of 5 folds: "
        reason = each.reason
        assert reason == "" if each.state == "complete" else reason.startswith(done)
        # The best one is now another one than when most were stopped.
        assert not reason or reason.endswith(f"beating trial {LATE}")


def test_without_a_last_round_it_is_lost() -> None:
    found = run(Planted(planted()), pruner=Racing(last_chance=2))
    assert found[LATE].state == "pruned"
    assert len(found[LATE].folds) == 1


def test_what_goes_on_is_stopped_when_it_turns_out_bad() -> None:
    scores, said = planted(), list[str]()
    scores[LATE] -= np.where(np.arange(5) == first_fold(LATE, 5), 0, 0.03)
    found = run(Planted(scores), said=said)
    assert found[LATE].state == "pruned"
    assert len(found[LATE].folds) == 2
    assert found[LATE].reason == "after 2 of 5 folds: 1% chance of beating trial 0"
    last = said[-1].partition("; ")[0]
    assert last == f"12 of 12, trial {LATE} went on: stopped {found[LATE].reason}"


def test_what_goes_on_may_fail() -> None:
    scores, said = planted(), list[str]()
    scores[LATE, (first_fold(LATE, 5) + 1) % 5] = np.nan
    found = run(Planted(scores), said=said)
    assert (found[LATE].state, found[LATE].reason) == ("failed", "ValueError: planted")
    assert f"trial {LATE} went on: failed, ValueError: planted" in said[-1]


@pytest.mark.parametrize("kill_after", [1, 3, 8, 18])
def test_killed_anywhere_it_ends_as_if_it_had_not_been(tmp_path: Path, kill_after: int) -> None:
    whole = Planted(planted())
    expected = told(run(whole))
    ran: list[tuple[int, int]] = []
    outcomes: list[Outcome] = []
    while not outcomes:
        slots = Planted(planted(), kill_after=kill_after)
        with suppress(Stop):
            outcomes = run(slots, tmp_path / "study")
        ran += slots.ran
    assert told(outcomes) == expected
    assert ran == whole.ran
    assert told(run(Planted(planted(), kill_after=0), tmp_path / "study")) == expected


def test_killed_as_its_last_fold_was_kept_it_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = told(run(Planted(planted())))
    tell = race.tell

    def stop(study: Any, trial: Any, outcome: Outcome, seconds: float | None) -> None:
        if outcome.number == LATE and outcome.state == "complete":
            raise Stop
        tell(study, trial, outcome, seconds)

    monkeypatch.setattr(race, "tell", stop)
    with pytest.raises(Stop):
        run(Planted(planted()), tmp_path / "study")
    monkeypatch.setattr(race, "tell", tell)
    assert told(run(Planted(planted(), kill_after=0), tmp_path / "study")) == expected


def test_two_slots_are_both_used_in_the_last_round() -> None:
    scores = planted()
    scores[9] = scores[LATE] - 0.001
    scores[9, first_fold(9, 5)] = scores[0, first_fold(9, 5)] - 0.0006
    slots, said = Planted(scores, most=2), list[str]()
    found = run(slots, said=said)
    assert slots.together == 2
    last = [trial for trial, _ in slots.ran][-6:]
    assert set(last) == {LATE, 9}
    assert last[0] == LATE, "the most likely one is the first"
    assert found[LATE].state == "complete"
    assert len(said) == 12 + 2
    assert len(set(slots.ran)) == len(slots.ran)


def test_more_trials_leave_those_that_have_ended(tmp_path: Path) -> None:
    scores = planted()
    before = run(Planted(scores), tmp_path / "study", trials=5)
    assert told(before)[-1][1] == "pruned"
    slots = Planted(scores)
    after = run(slots, tmp_path / "study")
    assert told(after)[:5] == told(before)
    assert {trial for trial, _ in slots.ran} == {*range(5, 12)}
    assert after[LATE].state == "complete"


class Clock:
    """Gains a second with each task."""

    def __init__(self, slots: Planted) -> None:
        self.slots = slots

    def monotonic(self) -> float:
        return float(len(self.slots.ran))


def test_ctrl_c_stops_for_good_what_is_paused_or_has_gone_on() -> None:
    said: list[str] = []
    found = run(Planted(planted(), kill_after=19, by=KeyboardInterrupt), said=said)
    assert [each.state for each in found] == ["complete", *["pruned"] * 11]
    assert len(found[LATE].folds) == 3
    assert said[-1].startswith(f"12 of 12, trial {LATE} went on: stopped after 3 of 5 folds: ")


@pytest.mark.parametrize(("seconds", "folds"), [(17, 1), (19, 3)])
def test_what_is_paused_when_the_time_is_over_is_stopped_for_good(
    monkeypatch: pytest.MonkeyPatch, seconds: int, folds: int
) -> None:
    slots = Planted(planted())
    monkeypatch.setattr(race, "time", Clock(slots))
    monkeypatch.setattr(race, "LAST_SHARE", 0.0)
    found = run(slots, timeout=seconds)
    assert len(slots.ran) == seconds
    assert [each.state for each in found] == ["complete", *["pruned"] * 11]
    assert len(found[LATE].folds) == folds
    assert found[LATE].reason.startswith(f"after {folds} of 5 folds: ")


def test_what_is_paused_goes_on_in_the_last_tenth_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = np.vstack([planted(), np.tile(FOLDS - 0.05, (60, 1))])
    slots = Planted(scores)
    monkeypatch.setattr(race, "time", Clock(slots))
    found = run(slots, timeout=50)
    assert found[LATE].state == "complete"
    order = [trial for trial, _ in slots.ran]
    assert order.index(LATE, order.index(LATE) + 1) == 45
    assert len(order) == 50
    assert order[-1] == len(found) - 1, "then others are drawn"


def test_without_a_seed_and_by_other_pruners_nothing_is_paused() -> None:
    for settings in ({"seed": None}, {"pruner": MedianPruner(n_startup_trials=1)}):
        slots = Planted(planted())
        found = run(slots, **settings)
        order = [trial for trial, _ in slots.ran]
        assert order == sorted(order)
        assert {each.state for each in found} == {"complete", "pruned"}
