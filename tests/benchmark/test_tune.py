from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

from pipeline.benchmark import tune
from pipeline.benchmark.record.tuning_record import SearchRecord, TuningRecord, load_tuning
from pipeline.benchmark.tune import publish_tuning, tuned_variants
from pipeline.errors import ConfigError
from pipeline.serving.load import load
from tests.benchmark.tuned import NUMBERS, batch_of, boosting, logistic, task_of


def gaussian(seed: int) -> GaussianProcessClassifier:
    return GaussianProcessClassifier(random_state=seed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a batch of two pipelines."""
    home = tmp_path_factory.mktemp("tuned")
    what = task_of(home / "small.parquet")
    publish_tuning(batch_of(home / "out", what), home / "out", lambda line: None)
    return home / "out"


@pytest.fixture(scope="module")
def record(folder: Path) -> TuningRecord:
    return load_tuning(folder / "tuning.json")


def table(folder: Path, *, train: bool) -> pd.DataFrame:
    frame = pd.read_parquet(folder.parent / "small.parquet")
    return frame[(frame["fold"] < 3) == train]


def published(folder: Path, what: Any, **options: Any) -> TuningRecord:
    return publish_tuning(batch_of(folder, what, **options), folder, lambda line: None)


def the(record: TuningRecord, name: str) -> SearchRecord:
    return next(s for s in record.searches if (s.pipeline, s.variant) == (name, "cpu"))


def best_params(search: SearchRecord) -> dict[str, Any]:
    return next(each.params for each in search.trials if each.number == search.best)


@pytest.mark.parametrize("name", ["boosting"])
def test_the_first_trial_is_the_pipeline_as_scikit_learn_judges_it(
    folder: Path, record: TuningRecord, name: str
) -> None:
    search, rows = the(record, name), table(folder, train=True)
    assert search.default == 0
    made = {"logistic": logistic, "boosting": boosting}[name](0)
    y = (rows["good"] == "yes").astype(int)
    cut = StratifiedKFold(3, shuffle=True, random_state=0)
    expected = cross_val_score(made, rows[["a", "b", "c"]], y, cv=cut, scoring="roc_auc")
    np.testing.assert_allclose(search.trials[0].folds, expected, rtol=1e-6)
    assert search.trials[0].score == pytest.approx(expected.mean())


@pytest.mark.parametrize("name", ["logistic", "boosting"])
def test_what_was_found_is_judged_on_the_test_rows_and_saved(
    folder: Path, record: TuningRecord, name: str
) -> None:
    search = the(record, name)
    train, test = table(folder, train=True), table(folder, train=False)
    make = {"logistic": logistic, "boosting": boosting}[name]
    for judged, params in ((search.untuned, {}), (search.tuned, best_params(search))):
        made = make(0).set_params(**params)
        made.fit(train[["a", "b", "c"]], train["good"] == "yes")
        chance = made.predict_proba(test[["a", "b", "c"]])[:, 1]
        assert judged is not None
        assert list(judged.metrics) == ["roc_auc", "log_loss"]
        assert judged.metrics["roc_auc"] == pytest.approx(
            roc_auc_score(test["good"] == "yes", chance), rel=1e-6
        )
    complete = [trial for trial in search.trials if trial.score]
    assert search.best == max(complete, key=lambda trial: trial.score).number
    assert search.ended == "all trials ran"
    assert not record.protocol.smaller_is_better
    assert (record.task.rows_train, record.task.rows_test) == (len(train), len(test))
    metrics = search.tuned.metrics["roc_auc"] - search.untuned.metrics["roc_auc"]
    interval = search.differences["roc_auc"]
    assert interval.low <= metrics <= interval.high
    model = load(folder / f"{name}.model", "cpu")
    assert search.model is not None
    assert search.model.file == f"{name}.model/SHA256SUMS"
    saved = model.predict_proba(test[["a", "b", "c"]])[:, list(model.classes_).index("yes")]
    np.testing.assert_allclose(saved, chance, atol=1e-5)


def test_no_search_sees_the_test_rows(folder: Path, record: TuningRecord, tmp_path: Path) -> None:
    frame = pd.read_parquet(folder.parent / "small.parquet")
    tested = frame["fold"] == 3
    frame.loc[tested, "good"] = np.where(frame.loc[tested, "good"] == "yes", "no", "yes")
    frame.loc[tested, ["a", "b"]] = 0.5
    other = tmp_path / "small.parquet"
    frame.to_parquet(other)
    what = replace(task_of(other), prepare=lambda home: other)
    found = published(tmp_path / "out", what)
    for name in ("logistic", "boosting"):
        one, same = the(found, name), the(record, name)
        assert [t.folds for t in one.trials] == [t.folds for t in same.trials]
        assert one.best == same.best
        assert one.tuned.metrics != same.tuned.metrics


def test_a_loss_is_made_small_and_weights_count(tmp_path: Path) -> None:
    what = task_of(tmp_path / "small.parquet", **NUMBERS)
    record = published(tmp_path / "out", what)
    search = the(record, "ridge")
    scores = {trial.number: trial.score for trial in search.trials if trial.score is not None}
    assert record.protocol.smaller_is_better
    assert min(scores.values()) > 0
    assert search.best == min(scores, key=scores.__getitem__)
    rows = table(tmp_path / "out", train=True)
    cut, made = KFold(3, shuffle=True, random_state=0), what.pipeline("ridge", 0)
    expected = []
    for train, test in cut.split(rows):
        one, other = rows.iloc[train], rows.iloc[test]
        made.fit(one[["a", "b", "c"]], one["size"], ridge__sample_weight=one["weight"])
        gaps = np.abs(made.predict(other[["a", "b", "c"]]) - other["size"])
        expected.append(np.average(gaps, weights=other["weight"]))
    assert search.trials[0].folds == pytest.approx(expected, rel=0.02)


def test_a_pipeline_without_a_space_is_told_how_to_get_one(tmp_path: Path) -> None:
    what = task_of(tmp_path / "small.parquet", pipelines={"own": gaussian}, spaces={})
    with pytest.raises(ConfigError) as caught:
        published(tmp_path / "out", what)
    assert "small: the pipeline 'own' has no space to search: Gaussian" in str(caught.value)
    assert (
        "add spaces={'own': {'step__parameter': [1, 10, 100]}} to the task in tasks/small.py"
        in str(caught.value)
    )


def test_early_stopping_is_refused_before_a_search(tmp_path: Path) -> None:
    pipelines = {"own": lambda seed: make_pipeline(XGBClassifier())}
    space = {"xgbclassifier__max_depth": [2, 3], "xgbclassifier__early_stopping_rounds": [5, 9]}
    what = task_of(tmp_path / "small.parquet", pipelines=pipelines, spaces={"own": space})
    with pytest.raises(ConfigError, match="small: the pipeline 'own' has early_stopping_rounds"):
        published(tmp_path / "out", what)


def test_the_best_of_two_devices_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one is the CPU too, under another name and with other seconds."""
    what = task_of(tmp_path / "small.parquet")
    found = [replace_name(each) for each in tuned_variants("cpu")]
    monkeypatch.setattr(tune, "tuned_variants", lambda device: found)
    record = published(tmp_path / "out", what, pipelines=["logistic"], trials=3)
    assert [each.variant for each in record.searches] == ["cpu", "auto"]
    scores = [max(t.score or 0 for t in each.trials) for each in record.searches]
    saved = [each.model is not None for each in record.searches]
    assert saved == [scores[0] >= scores[1], scores[1] > scores[0]]


def replace_name(variant: Any) -> Any:
    from msgspec import structs

    if variant.name == "cpu":
        return variant
    return structs.replace(variant, name="auto", status="ok", why="")


def test_all_failing_is_an_error_and_what_was_there_stays(folder: Path, tmp_path: Path) -> None:
    from optuna.distributions import CategoricalDistribution

    from pipeline.errors import DataError

    out = tmp_path / "out"
    shutil.copytree(folder, out)
    bad = {"logisticregression__solver": CategoricalDistribution(["no such solver"])}
    what = task_of(tmp_path / "small.parquet", spaces={"logistic": bad})
    with pytest.raises(DataError, match="no such solver"):
        publish_tuning(
            batch_of(out, what, pipelines=["logistic"]), out, lambda line: None, resume=False
        )
    assert (out / "tuning.json").read_bytes() == (folder / "tuning.json").read_bytes()
