"""What is said of partitions before a fit, held against what the fit then says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import IncrementalPCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, explain
from pipeline.backends.cuml import multi_gpu
from pipeline.compile import forecast
from pipeline.errors import Unsupported
from pipeline.table import partitioned

dd = pytest.importorskip("dask.dataframe")
ROWS = 600
SMALL = XGBClassifier(n_estimators=2)


def table() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 2)), columns=["a", "b"])


def target() -> np.ndarray:
    return (table()["a"] > 0).to_numpy().astype("int64")


def parts() -> Any:
    return dd.from_pandas(table(), npartitions=3)


def never(X: pd.DataFrame) -> pd.DataFrame:
    raise AssertionError("a partition was made")


def notes(places: Any) -> list[str]:
    """Return what is said of the partitions up to the free memory, which varies."""
    said = [place.note.replace("about ", "") for place in places]
    return [note.partition(" bytes of rows")[0] for note in said]


LATER = (
    " to one process if twice the rows fit, else external memory (about 4,800 bytes of rows, "
    "the free memory of the GPU is not known)"
)
LEARNERS = (SMALL, GaussianNB(), SGDClassifier(), LogisticRegression(), IncrementalPCA(1))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "estimator", [*(make_pipeline(StandardScaler(), last) for last in LEARNERS), SMALL], ids=str
)
@pytest.mark.parametrize("free", [10**12, 15_000, 100])
def test_the_fit_does_what_was_said(
    estimator: Any, free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: free)
    said = explain(estimator, "cpu", parts()).placements
    model = Accelerated(estimator, device="cpu")
    if "not enough memory" in said[-1].note:
        with pytest.raises(Unsupported, match=f"9,600 bytes of rows, {free:,} free"):
            model.fit(parts(), target())
        assert f"about 9,600 bytes of rows, {free:,} free" in said[-1].note
    else:
        model.fit(parts(), target())
        assert notes(said) == notes(model.plan_.placements)


def test_no_partition_is_made() -> None:
    X = parts().map_partitions(never, meta=table()[:0])
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    first, last = explain(estimator, "cpu", X).placements
    assert first.note == "the statistics of the partitions are merged"
    assert "else an error (the number of rows is not known before the run" in last.note
    with pytest.raises(AssertionError, match="a partition was made"):
        Accelerated(estimator, device="cpu").fit(X, target())


def test_rows_of_files_are_known_from_their_footers(tmp_path: Path) -> None:
    table().to_parquet(tmp_path / "x.parquet", row_group_size=100)
    table().to_csv(tmp_path / "x.csv")
    read = dd.read_parquet(tmp_path / "x.parquet")
    assert forecast.find_row_count(read) == ROWS
    assert forecast.find_row_count(read[["b"]]) == ROWS
    assert forecast.find_row_count(read[read["a"] > 0]) is None
    assert forecast.find_row_count(dd.read_csv(tmp_path / "x.csv")) is None
    assert forecast.find_row_count(read.to_dask_array(lengths=True)) == ROWS
    assert forecast.find_row_count(read.to_dask_array()) is None


@pytest.mark.parametrize(
    ("device", "steps", "said"),
    [
        (
            *("cpu", [StandardScaler(), IncrementalPCA(1), SMALL]),
            ["gathered to one process: about 9,600 bytes", "in the process that gathered the rows"],
        ),
        (
            *("cpu", [TfidfVectorizer(), LogisticRegression()]),
            ["not supported: text must not have partitions; pass X.compute()", ""],
        ),
        ("cuda", [StandardScaler(), SMALL], ["the statistics", f"gathered{LATER}"]),
    ],
    ids=["a process", "texts", "no GPU"],
)
def test_what_cannot_be_spread_is_said(
    device: str, steps: list[Any], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.system.devices.obstacle", lambda: "none here")
    places = explain(make_pipeline(*steps), device, parts()).placements
    assert all(p.note.startswith(note) for p, note in zip(places[-2:], said, strict=True))


def test_a_model_explains_itself_with_its_own_type_and_device() -> None:
    model = Accelerated(make_pipeline(StandardScaler(), SMALL), device="cpu", dtype="float64")
    explained = model.explain(parts())
    assert "about 9,600 bytes of rows" in explained.placements[-1].note
    assert model.explain().placements[-1].note == ""
    assert not hasattr(model, "plan_")


def test_what_several_gpus_train_together_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_gpu, "has_several_gpus", lambda: True)
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    said = explain(estimator, "cuda", parts()).placements[-1].note
    assert "trained by all GPUs of the cluster (cuml.dask.linear_model.Logistic" in said
