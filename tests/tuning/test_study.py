"""A search in a file: killed, gone on with, changed, beside another one."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold, ShuffleSplit

from pipeline import Search, shared
from pipeline.errors import ConfigError, OutputError
from pipeline.tuning.evaluate import Judged
from pipeline.tuning.space import Space
from pipeline.tuning.study import ask, open_journal, report

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200], y[:200]
SPACE = {"cut": FloatDistribution(10, 25), "skew": FloatDistribution(0.5, 2, log=True)}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")


class Stop(BaseException):
    """What ends a search as a kill does: nothing is done about it."""


class Cut(ClassifierMixin, BaseEstimator):
    """A mean radius above which a tumour is malignant; it stops the search after so many fits."""

    left = 10**9
    fits = 0

    def __init__(self, cut: float = 15.0, skew: float = 1.0, notes: str = "") -> None:
        self.cut, self.skew, self.notes = cut, skew, notes

    def fit(self, X: Any, y: Any) -> Cut:
        if not Cut.left:
            raise Stop
        Cut.left -= 1
        Cut.fits += 1
        if self.cut > 22:
            raise ValueError("the cut is too high")
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        return (X[:, 0] ** self.skew < self.cut).astype(int)


@pytest.fixture(autouse=True)
def unstopped() -> Iterator[None]:
    yield
    Cut.left, Cut.fits = 10**9, 0


def search(storage: Path | None, **changed: Any) -> Search:
    settings = {"trials": 12, "random_state": 0, "storage": storage, "refit": False}
    return Search(Cut(), **{"space": SPACE, **settings, **changed})


def finish(path: Path, fits: int, **changed: Any) -> tuple[Search, int]:
    """Run a search that is stopped again and again after so many fits."""
    stops = 0
    while True:
        Cut.left = fits
        try:
            return search(path, **changed).fit(X, y), stops
        except Stop:
            stops += 1
        finally:
            Cut.left = 10**9


def table(fitted: Search) -> pd.DataFrame:
    """Return what is known of the trials, without the times."""
    known = pd.DataFrame(fitted.cv_results_)
    return known[[name for name in known if "time" not in name]].astype(str)


ASKED: dict[str, dict[str, Any]] = {
    "no pruner": {"prune": False},
    "ours": {},
    "lists": {"space": {"cut": [12, 15.0, 24], "skew": SPACE["skew"]}},
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("fits", [5, 1])
@pytest.mark.parametrize("name", ASKED)
def test_stopped_anywhere_a_search_ends_as_if_it_had_not_been(
    tmp_path: Path, fits: int, name: str
) -> None:
    whole = search(None, **ASKED[name]).fit(X, y)
    expected, Cut.fits = Cut.fits, 0
    resumed, stops = finish(tmp_path / "study", fits, **ASKED[name])
    pd.testing.assert_frame_equal(table(resumed), table(whole))
    assert (Cut.fits, resumed.best_params_) == (expected, whole.best_params_)
    assert stops == (expected - 1) // fits > 2
    failed = resumed.cv_results_["state"] == "failed"
    assert all("the cut is too high" in why for why in resumed.cv_results_["reason"][failed])
    assert failed.any()
    assert (resumed.cv_results_["mean_fit_time"][resumed.best_index_]) > 0


@pytest.mark.slow
def test_cut_off_after_any_line_or_within_it_a_search_goes_on(tmp_path: Path) -> None:
    """No line of the journal leaves a state that a search cannot go on from."""
    path = tmp_path / "study"
    asked = {"trials": 5, "space": {"cut": [15.0, 24.0, 12.0]}}  # One of them fails.
    whole = search(path, **asked).fit(X, y)
    assert set(whole.cv_results_["state"]) >= {"complete", "failed"}
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for end in ends[1:]:
        path.write_bytes(content[: end - end % 2 * 9])
        again = search(path, **asked).fit(X, y)
        pd.testing.assert_frame_equal(table(again), table(whole))


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "study"
    search(path, trials=2).fit(X, y)
    content = path.read_bytes()
    path.write_bytes(content + b'{"op_code":4,"wor')
    open_journal(path)
    assert path.read_bytes() == content
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2")
    with pytest.raises(ConfigError, match=r"other.csv: not a journal that Optuna [\d.]+ can read"):
        search(other).fit(X, y)
    assert other.read_text() == "a,b\n1,2"


KILLED = """
import sys, time
from pathlib import Path
from tests.tuning.test_study import Cut, Search, SPACE, X, y
fit = Cut.fit
def noted(self, rows, y):
    made = fit(self, rows, y)
    with Path(sys.argv[1], "notes").open("a") as file:
        file.write(f"{self.cut!r} {self.skew!r} {rows.sum():.0f}\\n")
    time.sleep(0.01)
    return made
Cut.fit = noted
Search(
    Cut(), SPACE, trials=30, random_state=0, refit=False, storage=sys.argv[1] + "/study",
).fit(X, y)
"""


@pytest.mark.slow
def test_killed_a_few_times_no_trial_is_lost_or_counted_twice(tmp_path: Path) -> None:
    """A fit is repeated only where it ended within the moment before a kill."""
    notes, kills, rng = tmp_path / "notes", 0, random.Random(0)
    notes.touch()
    for fits in (*(rng.randint(3, 9) for _ in range(4)), 10**9):
        known, noted = _ended(tmp_path), len(notes.read_text().splitlines())
        child = Popen([sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path)])
        while child.poll() is None and len(notes.read_text().splitlines()) < noted + fits:
            time.sleep(0.001)
        child.kill()
        kills += child.wait(300) == -signal.SIGKILL
        assert known.items() <= _ended(tmp_path).items()
    found, whole = (search(path, trials=30).fit(X, y) for path in (tmp_path / "study", None))
    pd.testing.assert_frame_equal(table(found), table(whole))
    counted = Counter(notes.read_text().splitlines())
    assert sum(counted.values()) - len(counted) <= kills
    assert kills == 4


def _ended(folder: Path) -> dict[int, Any]:
    """Return the trials that have ended, by their numbers."""
    path = folder / "study"
    if not path.exists() or not path.read_bytes().count(b"\n"):
        return {}
    storage = open_journal(path)
    trials = storage.get_all_trials(storage.get_all_studies()[0]._study_id)
    return {each.number: each for each in trials if each.state.is_finished()}


def test_trials_that_several_workers_had_begun_go_on(tmp_path: Path) -> None:
    first = search(tmp_path / "study", trials=1).fit(X, y)
    study = optuna.load_study(
        study_name=first.study_.study_name, storage=open_journal(tmp_path / "study")
    )
    begun = [ask(study, Space.of(SPACE, Cut()), 0)[0] for _ in range(3)]
    report(begun[1], 2, Judged(0.5, 1.0, 2.0))  # Trial 2 begins with fold 2.
    found = search(tmp_path / "study", trials=6).fit(X, y)
    assert list(found.cv_results_["trial"]) == list(range(6))
    assert found.cv_results_["split2_test_score"][2] == 0.5
    assert found.cv_results_["mean_fit_time"][2] >= 1 / 5
    assert found.cv_results_["mean_score_time"][2] >= 2 / 5


def test_more_trials_go_on(tmp_path: Path) -> None:
    search(tmp_path / "study", trials=5).fit(X, y)
    more = search(tmp_path / "study", timeout=1e6, refit=True).fit(shared(X), y)
    pd.testing.assert_frame_equal(table(more), table(search(None).fit(X, y)))
    seconds = [each.user_attrs["seconds"] for each in more.study_.trials]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def other_rows() -> np.ndarray:
    changed = X.copy()
    changed[3, 3] += 1e-9
    return changed


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "rows": ({"X": other_rows()}, "X"),
    "target": ({"y": y[::-1]}, "y, folds"),
    "folds": ({"cv": 3}, "folds"),
    "scoring": ({"scoring": "roc_auc"}, "scoring"),
    "prune": ({"prune": False}, "prune"),
    "seed": ({"random_state": 1}, "random_state"),
    "fraction": ({"validation_fraction": 0.2}, "validation_fraction"),
    "space": ({"space": {"cut": SPACE["cut"]}}, "space"),
    "estimator": ({"estimator": Cut(notes="other")}, "estimator"),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("begun") / "study"
    search(path, trials=1).fit(X, y)
    return path


@pytest.mark.parametrize("name", CHANGES)
def test_a_search_that_differs_is_refused_with_what_differs(begun: Path, name: str) -> None:
    changed, said = dict(CHANGES[name][0]), CHANGES[name][1]
    rows, target = changed.pop("X", X), changed.pop("y", y)
    before = begun.read_bytes()
    with pytest.raises(
        ConfigError, match=f"holds a search that differs in {said}; restore"
    ) as caught:
        search(begun).set_params(**changed).fit(rows, target)
    assert "name another file as storage" in str(caught.value)
    assert begun.read_bytes() == before


@pytest.mark.parametrize("cv", [KFold(3, shuffle=True), ShuffleSplit(2)], ids=["k", "shuffle"])
def test_folds_without_a_seed_are_refused(tmp_path: Path, cv: Any) -> None:
    with pytest.raises(ConfigError, match=r"cv=.*draws other folds each time.*random_state"):
        search(tmp_path / "study", cv=cv).fit(X, y)
    assert search(None, cv=cv, trials=1).fit(X, y).n_splits_ == cv.get_n_splits()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="Is a directory; name another file"):
        search(tmp_path).fit(X, y)
    with pytest.raises(ConfigError, match="storage='sqlite:///a.db' is not the name of a file"):
        search(None).set_params(storage="sqlite:///a.db").fit(X, y)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="Not a directory|File exists"):
        search(tmp_path / "file" / "study").fit(X, y)


def test_a_study_of_another_hand_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    study = optuna.create_study(storage=JournalStorage(JournalFileBackend(str(path))))
    study.set_user_attr("identity", {"of": "an older version"})
    with pytest.raises(ConfigError, match="not a study of this version of Search; name"):
        search(path).fit(X, y)
    path.write_text('{"op_code":0,"of":"the future"}\n')
    with pytest.raises(ConfigError, match=r"theirs: not a journal that Optuna [\d.]+ can read"):
        search(path).fit(X, y)
