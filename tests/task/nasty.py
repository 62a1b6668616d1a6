"""A table with a known truth, written as people write tables, and what became of it."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, roc_auc_score

import pipeline
from pipeline import Accelerated
from pipeline.benchmark.run import measure
from pipeline.cli import main
from pipeline.errors import PipelineError
from pipeline.files import parquet
from pipeline.task import task
from tests.commands import Done

ROWS = 400
Cell = Callable[[Any], str]


@dataclass
class Own:
    """A task that was made of a file, in the working directory."""

    file: Any
    made: Any

    @cached_property
    def said(self) -> str:
        """What was printed, on one line."""
        return " ".join(" ".join(self.made.lines()).split())

    @cached_property
    def task(self) -> task.Task:
        """The task that was written."""
        return task.load(self.made.name)

    @cached_property
    def stored(self) -> pd.DataFrame:
        """The data of the task."""
        return pd.read_parquet(self.task.data(Path("data")))

    def part(self, train: bool) -> tuple[pd.DataFrame, Any]:
        """Return the rows to learn from, or to judge on."""
        _, split = self.task.split(None)
        rows, path = split.train if train else split.test, self.task.data(Path("data"))
        return parquet.read_parquet(path, self.task.features, self.task.target, rows, "cpu")

    def fitted(self, name: str = "boosting") -> Accelerated:
        """Return a pipeline of the task, fitted."""
        model = Accelerated(self.task.pipeline(name, 0), device="cpu")
        X, y = self.part(train=True)
        classes = None if self.task.kind == "regression" else np.unique(y)
        measure.fit(model, X, y, classes=classes)
        return model

    def score(self, name: str = "boosting") -> float:
        """Return R² or AUC, each class against the rest, on the rows to judge on."""
        model, (X, y) = self.fitted(name), self.part(train=False)
        if self.task.kind == "regression":
            return float(r2_score(y, model.predict(X)))
        found = model.predict_proba(X)
        found = found[:, 1] if found.shape[1] == 2 else found
        return float(roc_auc_score(y, found, multi_class="ovr"))

    @cached_property
    def read(self) -> pd.DataFrame:
        """The file, read as for predictions."""
        return pipeline.read_table(self.file, self.task.format)


def take(file: Any, target: str = "y", **options: Any) -> Own:
    """Make a task of a file."""
    return Own(file, pipeline.new_task(file, target=target, **options))


def attempt(file: Any, target: str = "y", **options: Any) -> tuple[Own | None, str]:
    """Make a task of a file, or none; return it and what was said, be it an error."""
    try:
        own = take(file, target, **options)
    except PipelineError as error:
        return None, str(error)
    return own, own.said


def written(
    columns: dict[str, Iterable[object]], *, name: str = "own.csv", delimiter: str = ",",
    encoding: str = "utf-8", above: Sequence[str] = (), below: Sequence[str] = (), end: str = "\n",
) -> Path:  # fmt: skip
    """Write cells as they are, and lines above and below them, to a file."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    whole = "".join(line + end for line in above) + text.getvalue()
    whole += "".join(line + end for line in below)
    Path(name).write_bytes(whole.encode(encoding))
    return Path(name)


def spelled(values: Iterable[Any], cell: Cell) -> list[str]:
    """Return values as cells, a missing one as none."""
    return ["" if pd.isna(value) else cell(value) for value in values]


def same(found: pd.Series, truth: Iterable[Any]) -> None:
    """Check the values of a column: numbers, moments or texts, missing in the same places."""
    expected = pd.Series(list(truth))
    found = found.reset_index(drop=True)
    np.testing.assert_array_equal(found.isna(), expected.isna())
    if isinstance(expected.dtype, np.dtype) and expected.dtype.kind in "iufb":
        assert pd.api.types.is_numeric_dtype(found.dtype), found.dtype
        wide = (each.astype("float64").to_numpy() for each in (found, expected))
        np.testing.assert_allclose(*wide, rtol=1e-9, atol=1e-9)
    elif expected.dtype.kind == "M":
        assert found.dtype.kind == "M", found.dtype
        assert list(found.astype("datetime64[s]")) == list(expected.astype("datetime64[s]"))
    else:
        assert list(found.dropna().astype("str")) == list(expected.dropna().astype("str"))


def call(*words: object) -> Done:
    """Run a command in this process and the working directory."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["pipeline", *map(str, words)])
        try:
            main.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def predicted(own: Own, out: str = "predicted.csv", name: str = "boosting") -> pd.DataFrame:
    """Save a fitted pipeline, as `run` does, and predict the very file that the task is made of."""
    done = call("run", own.made.name, "--device", "cpu", "--pipelines", name, "--out", "ran")
    assert done.code == 0, done.err
    done = call("predict", f"ran/{name}.model", own.file, out, "--device", "cpu")
    assert done.code == 0, done.err
    return pd.read_csv(out) if out.endswith("csv") else pd.read_parquet(out)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield an empty folder to work in, which the modules of tasks are imported from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in _tasks():
        monkeypatch.delitem(sys.modules, name)
    yield tmp_path
    for name in _tasks():
        del sys.modules[name]


def _tasks() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "tasks"]
