"""What is said of partitions before a fit, held against what the fit then says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import IncrementalPCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, explain
from pipeline.backends.cuml import multi_gpu
from pipeline.data import partitioned
from pipeline.errors import Unsupported
from pipeline.planning import forecast
from pipeline.planning.classify import classify

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
    " to one process if twice the rows fit, else external memory: about 4,800 bytes of rows, "
    "the free memory of the GPU is not known"
)
LEARNERS = (SMALL, GaussianNB(), SGDClassifier(), LogisticRegression(), IncrementalPCA(1))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "estimator", [*(make_pipeline(StandardScaler(), last) for last in LEARNERS), SMALL], ids=str
)
@pytest.mark.parametrize("free", [10**12, 100])
def test_the_fit_does_what_was_said(
    estimator: Any, free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: free)
    said = explain(estimator, "cpu", parts()).placements
    model = Accelerated(estimator, device="cpu")
    if "refused" in said[-1].note:
        with pytest.raises(Unsupported, match="9,600 bytes of rows, 100 free"):
            model.fit(parts(), target())
        assert "about 9,600 bytes of rows, 100 free" in said[-1].note
    else:
        model.fit(parts(), target())
        assert notes(said) == notes(model.plan_.placements)


def test_no_partition_is_made() -> None:
    X = parts().map_partitions(never, meta=table()[:0])
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    first, last = explain(estimator, "cpu", X).placements
    assert first.note == "the statistics of the partitions are merged"
    assert "else refused: the number of rows is not known before the run" in last.note
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


WIDE = pd.DataFrame({"t": [f"v{i % 50}" for i in range(ROWS)], "u": ["a", "b"] * (ROWS // 2)})


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (OneHotEncoder(), f"{ROWS * 28:,} bytes of rows as CSR, "),
        (
            make_column_transformer((OneHotEncoder(), ["t"])),
            f"{ROWS * 16:,} bytes of rows as CSR, ",
        ),
        (
            make_pipeline(OneHotEncoder(), PolynomialFeatures()),
            f"{ROWS * 28:,} bytes of rows as CSR if there are as many cells in a row as columns",
        ),
        (
            OneHotEncoder(sparse_output=False),
            f"{ROWS * 16:,} bytes of rows if there are as many columns as before",
        ),
    ],
    ids=["one-hot", "a column", "products", "dense"],
)
def test_the_bytes_of_sparse_rows_are_those_of_their_cells(encoder: Any, said: str) -> None:
    estimator = make_pipeline(encoder, LogisticRegression())
    (*_, last) = explain(estimator, "cpu", dd.from_pandas(WIDE, 3)).placements
    assert f"gathered to one process: about {said}" in last.note


def test_what_is_said_of_sparse_rows_is_what_the_fit_finds() -> None:
    X = dd.from_pandas(WIDE, 3)
    made = Accelerated(OneHotEncoder(), device="cpu").fit_transform(X)
    said = forecast.describe_rows(X), forecast.describe_rows(made)
    (node,) = classify(OneHotEncoder(), "cpu")
    expected = forecast._transform_rows(node, said[0], 2, "float64", sparse=True)
    ends = 4 * 3  # of each partition
    assert partitioned.total_nbytes(made) == expected.width * ROWS + ends
    assert said[1].fits("cpu")[1].startswith("the number of cells is not known before the run")


@pytest.mark.parametrize(
    ("device", "steps", "said"),
    [
        (
            *("cpu", [StandardScaler(), IncrementalPCA(1), SMALL]),
            ["gathered to one process: about 9,600 bytes", "in the process that the rows were"],
        ),
        (
            *("cpu", [TfidfVectorizer(), LogisticRegression()]),
            ["refused: texts are read in one piece; pass X.compute()", ""],
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
    monkeypatch.setattr(partitioned, "room", lambda device: 10**12)
    rows = forecast.PartitionRows(ROWS, 16, framed=False)
    logistic, bayes = classify(make_pipeline(LogisticRegression(), GaussianNB()), "cuda")
    assert forecast._forecast_model(logistic, rows, "cuda").startswith("gathered")
    monkeypatch.setattr(multi_gpu, "has_several_gpus", lambda: True)
    said = forecast._forecast_model(logistic, rows, "cuda")
    assert said.startswith("trained by all GPUs of the cluster (cuml.dask.linear_model.Logistic")
    assert forecast._forecast_model(bayes, rows, "cuda").startswith("gathered")
