"""A search in a file: killed, gone on with, changed, beside another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.pruners import MedianPruner
from optuna.samplers import RandomSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, Search
from pipeline.errors import ConfigError, DataError, OutputError
from pipeline.tuning.evaluate import Judged
from pipeline.tuning.journal import Journal
from pipeline.tuning.racing import Racing
from pipeline.tuning.space import Space
from pipeline.tuning.study import ask, report

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

    def __init__(self, cut: float = 15.0, skew: float = 1.0) -> None:
        self.cut, self.skew = cut, skew

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


def table(fitted: Search) -> pd.DataFrame:
    """Return what is known of the trials, without the times."""
    known = pd.DataFrame(fitted.cv_results_)
    return known[[name for name in known if "time" not in name]].astype(str)


@pytest.mark.quick(2)
@pytest.mark.parametrize("prune", [False, True, MedianPruner(n_startup_trials=2)])
@pytest.mark.parametrize("fits", [1, 5])
def test_stopped_anywhere_a_search_ends_as_if_it_had_not_been(
    tmp_path: Path, fits: int, prune: Any
) -> None:
    whole = search(None, prune=prune).fit(X, y)
    expected, Cut.fits = Cut.fits, 0
    resumed, stops = finish(tmp_path / "study", fits, prune=prune)
    pd.testing.assert_frame_equal(table(resumed), table(whole))
    assert (Cut.fits, resumed.best_params_) == (expected, whole.best_params_)
    assert stops == (expected - 1) // fits > 2
    failed = resumed.cv_results_["state"] == "failed"
    assert all("the cut is too high" in why for why in resumed.cv_results_["reason"][failed])
    assert failed.any()
    assert (resumed.cv_results_["mean_fit_time"][resumed.best_index_]) > 0


def stopping_score(model: Any, X: Any, y: Any) -> float:
    if not Cut.left:
        raise Stop
    Cut.left -= 1
    Cut.fits += 1
    return float(model.score(X, y))


@pytest.mark.slow
def test_first_looks_are_not_repeated(tmp_path: Path) -> None:
    forest = RandomForestClassifier(n_estimators=24, random_state=0)
    changed = {
        "estimator": Accelerated(forest, device="cpu"),
        "space": {"estimator__max_depth": IntDistribution(1, 6)},
        "scoring": stopping_score,
    }
    whole = search(None).set_params(**changed).fit(X, y)
    assert any(0 in each.intermediate_values for each in whole.study_.trials)
    expected, Cut.fits = Cut.fits, 0
    while True:
        Cut.left = 2
        try:
            resumed = search(tmp_path / "study").set_params(**changed).fit(X, y)
            break
        except Stop:
            pass
    pd.testing.assert_frame_equal(table(resumed), table(whole))
    assert Cut.fits == expected


def test_trials_that_several_workers_had_begun_go_on(tmp_path: Path) -> None:
    first = search(tmp_path / "study", trials=1).fit(X, y)
    with Journal(tmp_path / "study") as journal:
        name = first.study_.study_name
        study = optuna.load_study(study_name=name, storage=JournalStorage(journal))
        begun = [ask(study, Space.of(SPACE, Cut()), 0)[0] for _ in range(3)]
        report(study, begun[1], 1, Judged(0.5, 1.0, 2.0))
    Cut.fits = 0
    found = search(tmp_path / "study", trials=6, prune=True).fit(X, y)
    assert list(found.cv_results_["trial"]) == list(range(6))
    assert found.cv_results_["split0_test_score"][2] == 0.5
    assert found.cv_results_["mean_fit_time"][2] >= 1 / 5
    assert found.cv_results_["mean_score_time"][2] >= 2 / 5


def test_a_sampler_of_ones_own_goes_on(tmp_path: Path) -> None:
    resumed, _ = finish(tmp_path / "study", 7, sampler=RandomSampler(0))
    assert len(resumed.cv_results_["state"]) == 12


def test_spaces_of_several_parts_go_on(tmp_path: Path) -> None:
    space = [{"cut": [12, 15.0, 18]}, {"cut": SPACE["cut"], "skew": SPACE["skew"]}]
    whole = search(None, space=space).fit(X, y)
    resumed, _ = finish(tmp_path / "study", 7, space=space)
    pd.testing.assert_frame_equal(table(resumed), table(whole))


def test_a_search_that_is_complete_fits_nothing_more(tmp_path: Path) -> None:
    first = search(tmp_path / "study").fit(X, y)
    content, Cut.left = (tmp_path / "study").read_bytes(), 0
    again = search(tmp_path / "study").fit(X, y)
    for name in first.cv_results_:
        np.testing.assert_array_equal(first.cv_results_[name], again.cv_results_[name])
    assert (tmp_path / "study").read_bytes() == content


def test_more_trials_go_on(tmp_path: Path) -> None:
    search(tmp_path / "study", trials=5).fit(X, y)
    more = search(tmp_path / "study", trials=12, verbose=0, timeout=1e6, refit=True).fit(X, y)
    pd.testing.assert_frame_equal(table(more), table(search(None).fit(X, y)))


def test_without_a_seed_the_first_one_is_kept(tmp_path: Path) -> None:
    def settings() -> Search:
        return search(tmp_path / "study", random_state=None)

    Cut.left = 20
    with pytest.raises(Stop):
        settings().fit(X, y)
    Cut.left = 10**9
    seed = settings().fit(X, y).study_.user_attrs["seed"]
    again = search(tmp_path / "other", random_state=None)
    again.random_state = type("Seed", (np.random.RandomState,), {"randint": lambda *_: seed})(0)
    pd.testing.assert_frame_equal(table(settings().fit(X, y)), table(again.fit(X, y)))


def test_seconds_go_on_over_searches(tmp_path: Path) -> None:
    finish(tmp_path / "study", 7)
    known = search(tmp_path / "study").fit(X, y).study_.trials
    seconds = [each.user_attrs["seconds"] for each in known]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def other_rows() -> dict[str, Any]:
    changed = X.copy()
    changed[3, 3] += 1e-9
    return {"X": changed}


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "rows": (other_rows(), r"X: 200 × 30, \w+ → 200 × 30, \w+"),
    "target": ({"y": y[::-1]}, r"y: 200, \w+ → 200, \w+; "),
    "folds": ({"cv": 3}, r"folds: 5 of rows \w+ → 3 of rows \w+"),
    "scoring": ({"scoring": "roc_auc"}, "scoring: None → 'roc_auc'"),
    "prune": ({"prune": False}, r"prune: Racing\(chance=0.4, .*, 15 pairs → False"),
    "chance": ({"prune": Racing(chance=0.1)}, r"prune: Racing\(.* → Racing\(chance=0.1, "),
    "seed": ({"random_state": 1}, "random_state: 0 → 1"),
    "no seed": ({"random_state": None}, "random_state: 0 → not set"),
    "fraction": ({"validation_fraction": 0.2}, "validation_fraction: 0.1 → 0.2"),
    "space": ({"space": {"cut": SPACE["cut"]}}, r"space\['skew'\]: FloatDist.* → not set"),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("begun") / "study"
    search(path, trials=1).fit(X, y)
    return path


@pytest.mark.parametrize("name", CHANGES)
def test_a_search_that_differs_is_refused_with_the_difference(begun: Path, name: str) -> None:
    changed, said = dict(CHANGES[name][0]), CHANGES[name][1]
    rows, target = changed.pop("X", X), changed.pop("y", y)
    before = begun.read_bytes()
    with pytest.raises(ConfigError, match=said) as caught:
        search(begun).set_params(**changed).fit(rows, target)
    assert "name another file as storage" in str(caught.value)
    assert begun.read_bytes() == before


@pytest.mark.parametrize("name", ["FEWEST", "PAIRS", "SHARE"])
def test_a_release_with_other_constants_of_the_rule_does_not_go_on(
    begun: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    search(begun, trials=1, prune=Racing()).fit(X, y)
    monkeypatch.setattr(f"pipeline.tuning.identity.{name}", 7)
    with pytest.raises(ConfigError, match=r"prune: Racing\(.* → Racing\(.*\b7\b"):
        search(begun).fit(X, y)


def test_an_estimator_that_differs_is_refused_with_the_parameter(tmp_path: Path) -> None:
    name = "logisticregression__C"
    space = {name: FloatDistribution(1e-2, 1)}

    def fit(**params: Any) -> Search:
        model = make_pipeline(StandardScaler(), LogisticRegression()).set_params(**params)
        return Search(model, space, trials=1, storage=tmp_path / "study").fit(X, y)

    fit()
    fit(**{name: 0.5, "logisticregression__verbose": 0, "standardscaler__with_std": True})
    with pytest.raises(ConfigError, match="logisticregression__tol: not set → 0.01"):
        fit(logisticregression__tol=0.01)
    with pytest.raises(ConfigError, match="standardscaler: StandardScaler → 'passthrough'"):
        fit(standardscaler="passthrough")


@pytest.mark.parametrize("cv", [KFold(3, shuffle=True), ShuffleSplit(2)], ids=["k", "shuffle"])
def test_folds_without_a_seed_are_refused(tmp_path: Path, cv: Any) -> None:
    with pytest.raises(ConfigError, match=r"cv=.*draws other folds each time.*random_state"):
        search(tmp_path / "study", cv=cv).fit(X, y)
    assert search(None, cv=cv, trials=1).fit(X, y).n_splits_ == cv.get_n_splits()


def test_other_versions_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search(tmp_path / "study", trials=1).fit(X, y)
    monkeypatch.setattr("sklearn.__version__", "1.99")
    with pytest.warns(UserWarning, match=r"study: other versions.*scikit-learn: .* → 1.99; scor"):
        search(tmp_path / "study", trials=2).fit(X, y)
    search(tmp_path / "study", trials=3).fit(X, y)


def test_a_folder_or_a_url_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"storage=.*: Is a directory; name another file"):
        search(tmp_path).fit(X, y)
    with pytest.raises(ConfigError, match="storage='sqlite:///a.db' is not the name of a file"):
        search(None).set_params(storage="sqlite:///a.db").fit(X, y)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="Not a directory|File exists"):
        search(tmp_path / "file" / "study").fit(X, y)


def test_a_study_of_another_hand_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    optuna.create_study(storage=JournalStorage(JournalFileBackend(str(path))))
    content = path.read_bytes()
    with pytest.raises(DataError, match="theirs: a study that Search has not made; name another"):
        search(path).fit(X, y)
    path.write_text('{"op_code":0,"of":"the future"}\n')
    with pytest.raises(DataError, match=r"theirs: not a journal that Optuna [\d.]+ can read"):
        search(path).fit(X, y)
    assert content.startswith(b'{"op_code":0,')
