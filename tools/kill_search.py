"""Searches that are killed at random moments, to see whether a trial is lost or repeated.

Half of the kills come from outside, after a random time; the others come within a write to the
file of the study, of which a random part arrives. After each kill the file is read: each trial
that had ended is there as it was, and no fold that had been reported is ever fitted again. In the
end each search is what it is without kills::

    .venv/bin/python -m tools.kill_search --kills 1000
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import FloatDistribution
from optuna.storages import JournalStorage
from optuna.trial import FrozenTrial
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

from pipeline import Search
from pipeline.tuning.journal import Journal

TRIALS, FOLDS = 25, 4
SPACE = {"a": FloatDistribution(-1, 1), "b": FloatDistribution(1e-3, 1, log=True)}
X = np.arange(40.0).reshape(-1, 1)
WRITES = 12
"""A kill within a write comes within one of so many."""
FOREVER = 600.0
"""Seconds that a search takes at most."""


class Noted(BaseEstimator):
    """An estimator that writes down each of its fits; its score is known beforehand.

    Parameters
    ----------
    a, b : float
    notes : str
        The file.
    """

    def __init__(self, a: float = 0.5, b: float = 0.1, notes: str = "") -> None:
        self.a, self.b, self.notes = a, b, notes

    def fit(self, X: np.ndarray, y: Any = None) -> Noted:
        """Write down the parameters and the fold."""
        with Path(self.notes).open("ab", buffering=0) as file:
            file.write(f"{self.a!r} {self.b!r} {X.sum():.0f}\n".encode())
        return self

    def score(self, X: np.ndarray, y: Any = None) -> float:
        """Return a bowl, with noise that differs between candidates and folds."""
        noise = np.sin(1e3 * (self.a + self.b) + X.sum()) / 20
        return float(-((self.a - 0.3) ** 2) - np.log10(self.b / 0.05) ** 2 + noise + X.mean() / 50)


class Finding(NamedTuple):
    """What one search has shown."""

    kills: int
    within: int
    """Of them, within a write."""
    trials: int
    """That had ended before a kill."""
    faults: Sequence[str]


def make_search(folder: Path, seed: int, storage: Path | None = None) -> Search:
    """Return a search whose fits are written down in a folder."""
    return Search(
        Noted(notes=str(folder / "notes")), SPACE, trials=TRIALS, cv=KFold(FOLDS), refit=False,
        random_state=seed, storage=storage,
    )  # fmt: skip


def in_child(work: Callable[[], object], seconds: float) -> bool:
    """Run something in a forked process; kill it after some seconds; return whether it ended.

    Raises
    ------
    RuntimeError
        It has failed.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(min(0.001, max(0.0, ends - time.monotonic())))
    else:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"a search ended with {code}")
    return code == 0


def die_within_write(number: int, share: float) -> None:
    """Let this process write a share of what it is to write for the so-manieth time, and die."""
    write, left = os.write, [number]

    def torn(file: int, content: bytes) -> int:
        left[0] -= 1
        if not left[0]:
            write(file, content[: round(share * len(content))])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(file, content)

    setattr(os, "write", torn)  # noqa: B010 - mypy knows it as read-only


class Watch:
    """What is known of a search from before a kill, and must be true after it."""

    def __init__(self, study: Path, notes: Path) -> None:
        self.study, self.notes = study, notes
        self.ended: dict[int, Any] = {}
        self.fits: Counter[str] = Counter()
        self.faults: list[str] = []

    def look(self) -> None:
        """Compare what there is with what there was, and remember it."""
        with Journal(self.study) as journal:
            storage = JournalStorage(journal)
            trials = storage.get_all_trials(0) if storage.get_all_studies() else []
        now = {each.number: each for each in trials if each.state.is_finished()}
        for number, trial in self.ended.items():
            if now.get(number) != trial:
                self.faults.append(f"trial {number}: {trial} → {now.get(number)}")
        if len({tuple(each.params.values()) for each in now.values()}) != len(now):
            self.faults.append("a trial ended twice")
        notes = self.notes.read_text().splitlines() if self.notes.exists() else []
        fits = Counter(notes)
        for note, before in self.fits.items():
            if fits[note] != before:
                self.faults.append(f"fitted again: {note}")
        reported = [note_of(each, step) for each in trials for step in each.intermediate_values]
        self.ended, self.fits = now, Counter({note: fits[note] for note in reported})

    def compare(self, killed: Search, whole: Search, kills: int) -> None:
        """Compare a search that was killed with one that was not."""
        for name in ("params", "mean_test_score", "state", "reason"):
            if list(map(str, killed.cv_results_[name])) != list(map(str, whole.cv_results_[name])):
                self.faults.append(f"{name}: other ones than without kills")
        notes = self.notes.read_text().splitlines()
        twice = len(notes) - len(set(notes))
        if twice > kills:
            self.faults.append(f"{twice} fits were repeated after {kills} kills")


def note_of(trial: FrozenTrial, step: int) -> str:
    """Return what the fit of a fold of a trial writes down."""
    train = list(KFold(FOLDS).split(X))[step - 1][0]
    return f"{trial.params['a']!r} {trial.params['b']!r} {X[train].sum():.0f}"


def kill_one(folder: Path, seed: int, most: int, dice: random.Random) -> Finding:
    """Run one search, killed again and again until it ends, or so many times at most."""
    study, rehearsed = folder / "study", folder / "rehearsed"
    rehearsed.mkdir(parents=True)
    start = time.monotonic()
    whole = make_search(rehearsed, seed, rehearsed / "study").fit(X)
    taken = time.monotonic() - start
    watch = Watch(study, folder / "notes")
    kills = within = 0
    ended = False

    def go_on(number: int = 0, share: float = 0.0) -> None:
        if number:
            die_within_write(number, share)
        make_search(folder, seed, study).fit(X)

    while not ended and kills < most:
        inside = dice.random() < 0.5
        death = (dice.randint(1, WRITES), dice.random()) if inside else ()
        seconds = FOREVER if inside else dice.uniform(0, taken / 5)
        ended = in_child(partial(go_on, *death), seconds)
        kills += not ended
        within += inside and not ended
        watch.look()
    last = make_search(folder, seed, study).fit(X)
    watch.look()
    watch.compare(last, whole, kills)
    return Finding(kills, within, len(watch.ended), watch.faults)


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill searches until there were enough kills; return 1 where one has done harm."""
    parser = argparse.ArgumentParser(
        description=__doc__, prog=".venv/bin/python -m tools.kill_search"
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    found: list[Finding] = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kill-search-") as folder:
        while (left := options.kills - sum(each.kills for each in found)) > 0:
            number = len(found)
            dice = random.Random(f"{options.seed} {number}")
            found.append(kill_one(Path(folder, str(number)), number, left, dice))
    faults = [fault for each in found for fault in each.faults]
    kills, within, trials = (sum(column) for column in list(zip(*found, strict=True))[:3])
    print(*faults[:20], sep="\n", end="\n" if faults else "")
    print(
        f"{kills:,} kills of {len(found)} searches, {within:,} within a write: "
        f"{trials:,} trials, {len(faults)} faults, {time.monotonic() - start:.0f} s"
    )
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
