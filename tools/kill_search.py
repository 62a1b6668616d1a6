"""Searches that are killed at random moments, to see whether a trial is lost or repeated.

Half of the kills come from outside, after a random time; the others come within a write to the
file of the study, of which a random part arrives. After each kill the file is read: each trial
that had ended is there as it was, and no fold that had been reported is ever fitted again. In the
end each search is what it is without kills. With ``--workers`` searches run on a cluster on this
machine: workers are killed too, and no process may outlive its search; with several, scores are
those that are known beforehand::

    .venv/bin/python -m tools.kill_search --kills 1000
    .venv/bin/python -m tools.kill_search --kills 30 --workers 2
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
from contextlib import suppress
from functools import partial
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

import numpy as np
import psutil
from optuna.distributions import FloatDistribution
from optuna.storages import JournalStorage
from optuna.trial import FrozenTrial
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

from pipeline import Search
from pipeline.distributed.cluster import optional_cluster
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
    workers: int
    """Of them, of a worker."""
    trials: int
    """That had ended before a kill."""
    faults: Sequence[str]


def make_search(folder: Path, seed: int, storage: Path | None = None) -> Search:
    """Return a search whose fits are written down in a folder."""
    return Search(
        Noted(notes=str(folder / "notes")), SPACE, trials=TRIALS, cv=KFold(FOLDS), refit=False,
        random_state=seed, storage=storage,
    )  # fmt: skip


Blow = tuple[float, Callable[[int], None]]
"""Seconds after the one before, and what is then done to a process."""


def in_child(work: Callable[[], object], blows: Sequence[Blow], begun: Callable[[], bool]) -> bool:
    """Run something in a forked process; return whether it ended before it was killed.

    Parameters
    ----------
    work : callable
    blows : sequence of Blow
        The last one kills it.
    begun : callable
        Whether the first blow's seconds begin.

    Raises
    ------
    RuntimeError
        It has failed, or processes of its own outlive it.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            work()
            code = 0
        finally:
            os._exit(code)
    status = wait_for(child, begun)
    for seconds, blow in blows:
        if status is None:
            status = wait_for(child, partial(is_past, time.monotonic() + seconds))
        if status is None:
            blow(child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1] if status is None else status)
    end = time.monotonic() + FOREVER / 10
    while (left := processes_of(child)) and not is_past(end):
        time.sleep(0.01)
    for each in left:
        each.kill()
    if code not in (0, -signal.SIGKILL) or left:
        raise RuntimeError(f"a search ended with {code}, and left {left}")
    return code == 0


def wait_for(child: int, what: Callable[[], bool]) -> int | None:
    """Return the status that a process ends with, or None once something is true before."""
    while not what():
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    return None


def is_past(end: float) -> bool:
    """Return whether it is later than that."""
    return time.monotonic() >= end


def kill(process: int) -> None:
    """End a process at once."""
    os.kill(process, signal.SIGKILL)


def processes_of(session: int) -> list[psutil.Process]:
    """Return the processes that run in a session."""
    found = []
    for number in psutil.pids():
        with suppress(OSError, psutil.Error):
            process = psutil.Process(number)
            if os.getsid(number) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def kill_worker(session: int, dice: random.Random, killed: list[int]) -> None:
    """Kill one of the workers that a process has started."""
    workers = []
    for process in processes_of(session):
        with suppress(psutil.Error):
            if "spawn_main" in " ".join(process.cmdline()):
                workers.append(process.pid)
    if workers:
        killed.append(dice.choice(sorted(workers)))
        kill(killed[-1])


def die_within_write(number: int, share: float) -> None:
    """Let this process write a share of what it is to write for the so-manieth time, and die."""
    write, left = os.write, [number]

    def torn(file: int, content: bytes) -> int:
        left[0] -= S_ISREG(os.fstat(file).st_mode)  # Others are pipes to the workers.
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

    def compare(self, killed: Search, whole: Search | None, lost: int) -> None:
        """Compare a search that was killed with one that was not, or with what it must be.

        Parameters
        ----------
        killed : Search
        whole : Search, optional
            None where the order of events decides on what is drawn.
        lost : int
            How many fits may have been repeated.
        """
        found = killed.cv_results_
        if whole is None:
            self._check_scores(found)
        else:
            for name in ("params", "mean_test_score", "state", "reason"):
                if list(map(str, found[name])) != list(map(str, whole.cv_results_[name])):
                    self.faults.append(f"{name}: other ones than without kills")
        if len(found["params"]) != TRIALS:
            self.faults.append(f"{len(found['params'])} trials")
        notes = self.notes.read_text().splitlines()
        twice = len(notes) - len(set(notes))
        if twice > lost:
            self.faults.append(f"{twice} fits were repeated, of {lost} that may have been lost")

    def _check_scores(self, found: dict[str, Any]) -> None:
        """See that each fold that was judged has its score, and that no trial has failed."""
        self.faults += [
            f"failed: {reason}" for reason in found["reason"][found["state"] == "failed"]
        ]
        for fold, (_, test) in enumerate(KFold(FOLDS).split(X)):
            for params, score in zip(
                found["params"], found[f"split{fold}_test_score"], strict=True
            ):
                if np.isfinite(score) and score != Noted(**params).score(X[test]):
                    self.faults.append(f"{params}, fold {fold}: the score is {score}")


def note_of(trial: FrozenTrial, step: int) -> str:
    """Return what the fit of a fold of a trial writes down."""
    train = list(KFold(FOLDS).split(X))[step - 1][0]
    return f"{trial.params['a']!r} {trial.params['b']!r} {X[train].sum():.0f}"


def kill_one(
    folder: Path, seed: int, most: int, dice: random.Random, workers: int | None = None
) -> Finding:
    """Run one search, killed again and again until it ends, or so many times at most."""
    study, rehearsed, notes = folder / "study", folder / "rehearsed", folder / "notes"
    rehearsed.mkdir(parents=True)
    start = time.monotonic()
    whole = make_search(rehearsed, seed, rehearsed / "study").fit(X)
    taken = time.monotonic() - start
    watch = Watch(study, notes)
    kills = within = 0
    killed: list[int] = []
    ended = False

    def go_on(number: int = 0, share: float = 0.0) -> None:
        with optional_cluster("local" if workers else None, workers=workers):
            if number:
                die_within_write(number, share)
            make_search(folder, seed, study).fit(X)

    def has_grown(before: int) -> bool:
        return size_of(notes) > before

    while not ended and kills + len(killed) < most:
        inside = dice.random() < 0.5
        death = (dice.randint(1, WRITES), dice.random()) if inside else ()
        blows: list[Blow] = [(FOREVER if inside else dice.uniform(0, taken / 5), kill)]
        if workers and dice.random() < 0.5:
            strike = partial(kill_worker, dice=dice, killed=killed)
            blows.insert(0, (dice.uniform(0, taken / 5), strike))
        begun = partial(has_grown, size_of(notes) if workers else -1)
        ended = in_child(partial(go_on, *death), blows, begun)
        kills += not ended
        within += inside and not ended
        watch.look()
    last = make_search(folder, seed, study).fit(X)
    watch.look()
    slots = workers or 1
    watch.compare(last, whole if slots == 1 else None, (kills + len(killed)) * slots)
    return Finding(kills + len(killed), within, len(killed), len(watch.ended), watch.faults)


def size_of(file: Path) -> int:
    """Return how many bytes were written."""
    return file.stat().st_size if file.exists() else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill searches until there were enough kills; return 1 where one has done harm."""
    parser = argparse.ArgumentParser(
        description=__doc__, prog=".venv/bin/python -m tools.kill_search"
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, help="of a cluster; by default there is none")
    options = parser.parse_args(arguments)
    found: list[Finding] = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kill-search-") as folder:
        while (left := options.kills - sum(each.kills for each in found)) > 0:
            number = len(found)
            dice = random.Random(f"{options.seed} {number}")
            found.append(kill_one(Path(folder, str(number)), number, left, dice, options.workers))
    faults = [fault for each in found for fault in each.faults]
    kills, within, workers, trials = (sum(column) for column in list(zip(*found, strict=True))[:4])
    print(*faults[:20], sep="\n", end="\n" if faults else "")
    print(
        f"{kills:,} kills of {len(found)} searches, {within:,} within a write, "
        f"{workers:,} of a worker: "
        f"{trials:,} trials, {len(faults)} faults, {time.monotonic() - start:.0f} s"
    )
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
