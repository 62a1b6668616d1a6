"""Predictions of a file by the workers of a cluster: the file is that of one process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated
from pipeline.serving.predict import PredictionJob, Record, run_job
from pipeline.serving.save import save
from tests import clusters, programs

pytest.importorskip("distributed")
TABLE, Y = programs.TABLE, programs.NUMBERS
OF_A_RUN = {"created", "seconds", "cluster", "output"}
"""Fields of the record that differ between two runs of the same work."""


@pytest.fixture(scope="module")
def two() -> Iterator[Any]:
    """A cluster of processes, which can be killed."""
    with pipeline.cluster("local", workers=2, timeout=120) as cluster:
        yield cluster


@pytest.fixture
def threads() -> Iterator[Any]:
    with clusters.in_process() as client:
        yield client


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a model's folder and a table in an order and with an index of its own."""
    folder = tmp_path_factory.mktemp("files")
    estimator = programs.program(XGBClassifier(n_estimators=3))
    fitted = Accelerated(estimator, device="cpu", profile=True).fit(TABLE, Y)
    X = TABLE.assign(more=range(len(TABLE))).sample(frac=1, random_state=0)
    X.to_parquet(folder / "in.parquet")
    return save(fitted, folder / "model"), folder / "in.parquet"


def job(files: tuple[Path, Path], target: Path) -> PredictionJob:
    return PredictionJob(*files, target, "cpu", keep=["more"], rows=10)


def alone(job: PredictionJob) -> Record:
    """Run a job in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.serving.predict.active", lambda: None)
        return run_job(job, nothing)


def said(record: Record) -> dict[str, Any]:
    fields = msgspec.to_builtins(record)
    return {name: value for name, value in fields.items() if name not in OF_A_RUN}


def held(path: Path) -> pa.Table:
    return pq.read_table(path).replace_schema_metadata(None)


def nothing(text: str) -> None:
    """Say nothing."""


def killing(cluster: Any, how_many: int, after: int = 4) -> Callable[[str], None]:
    """Return a `say` that kills workers once some batches are written."""
    lines: list[str] = []

    def say(text: str) -> None:
        lines.append(text)
        if len(lines) == after:
            for pid in list(cluster.client.run(os.getpid).values())[:how_many]:
                os.kill(pid, signal.SIGKILL)

    return say


@pytest.mark.usefixtures("threads")
def test_file_and_record_are_those_of_one_process(files: tuple[Path, Path], tmp_path: Path) -> None:
    ours, theirs = job(files, tmp_path / "here"), job(files, tmp_path / "there")
    here, there = alone(ours), run_job(theirs, nothing)
    assert held(theirs.target).equals(held(ours.target))
    assert said(there) == said(here)
    assert (here.cluster, there.cluster) == ("", "the active client")


@pytest.mark.slow
@pytest.mark.parametrize("how_many", [1, 2])
def test_a_killed_worker_changes_nothing(
    files: tuple[Path, Path], tmp_path: Path, how_many: int, two: Any
) -> None:
    two.client.wait_for_workers(2, timeout=60)
    alone(job(files, tmp_path / "here"))
    record = run_job(job(files, tmp_path / "there"), killing(two, how_many))
    assert record.rows == len(TABLE)
    assert held(tmp_path / "there").equals(held(tmp_path / "here"))
