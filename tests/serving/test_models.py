"""Saved models that nobody has named, and what is remembered of their table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from shlex import quote

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import pipeline
from pipeline import Accelerated
from pipeline.data.table_format import Date, Number, TableFormat, Text
from pipeline.errors import DataError
from pipeline.serving import manifest
from pipeline.serving.save import About
from tests.commands import ROOT, assert_one_message, call

X = pd.DataFrame({"length": np.arange(9.0), "width": np.arange(9.0) % 4})
FORMAT = TableFormat(
    encoding="cp1252",
    delimiter=";",
    skip_rows=2,
    missing=("?", "-"),
    columns={
        "length": Number(decimal=",", thousands=".", unit="€", stray="missing"),
        "day": Date(format=("%d.%m.%Y", "%d.%m.%y")),
        "name": Text(missing=("?",)),
    },
)


def model() -> Accelerated:
    """Return a fitted model."""
    return Accelerated(LinearRegression(), device="cpu").fit(X, X["width"])


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a folder with a run of two models, one of its own, and what is none."""
    about = About({"r2": 0.5})
    for name in ("linear", "boosting"):
        pipeline.save(model(), tmp_path / "runs" / "houses" / f"{name}.model", about)
    (tmp_path / "runs" / "houses" / "results.json").write_text(
        '{"task": {"name": "houses"}, "more": 1}'
    )
    pipeline.save(model(), tmp_path / "runs" / "mine")
    shutil.copytree(tmp_path / "runs" / "mine", tmp_path / "runs" / ".mine.draft-1")
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / manifest.MANIFEST).write_text("{")
    return tmp_path / "runs"


def test_a_model_remembers_how_its_table_was_read(tmp_path: Path) -> None:
    fitted = model()
    assert fitted.table_format_ is None
    first = pipeline.load(pipeline.save(fitted, tmp_path / "a", About(format=FORMAT)), "cpu")
    assert first.table_format_ == FORMAT
    again = pipeline.load(pipeline.save(first, tmp_path / "b"), "cpu")
    assert again.table_format_ == FORMAT
    fitted.table_format_ = FORMAT
    assert pipeline.load(pipeline.save(fitted, tmp_path / "e"), "cpu").table_format_ == FORMAT
    other = pipeline.save(first, tmp_path / "c", About(format=TableFormat(delimiter="|")))
    assert pipeline.load(other, "cpu").table_format_ == TableFormat(delimiter="|")
    assert again.fit(X, X["width"]).table_format_ is None, "fitted on other rows"
    assert pipeline.load(pipeline.save(again, tmp_path / "d"), "cpu").table_format_ is None


@pytest.mark.parametrize("folder", ["houses", "houses/bosting.model", "."])
def test_a_folder_or_an_unknown_model_names_those_that_are_there(folder: str, runs: Path) -> None:
    says = r"(a folder of models; name one of them|no such model; the models in .*houses):\n"
    with pytest.raises(DataError, match=says) as found:
        pipeline.load(runs / folder)
    assert str(runs / "houses" / "boosting.model") in str(found.value)
    code, out, err = call("predict", runs / folder, ROOT / "README.md", runs / "out.csv")
    assert (code, out) == (65, "")
    assert f"{runs / 'houses' / 'linear.model'}  houses  r2 0.5000" in err


def test_models_are_listed(runs: Path) -> None:
    code, out, err = call("models", runs)
    assert (code, err) == (0, "")
    lines = [line.removeprefix(f"{runs}/").split("  ") for line in out.splitlines()]
    assert [line[:3] for line in lines[:2]] == [
        [f"houses/{name}.model", "houses", "r2 0.5000"] for name in ("boosting", "linear")
    ]
    assert (lines[2][0], len(lines), len(lines[2])) == ("mine", 3, 2)
    empty = runs / "houses" / "linear.model" / "no"
    assert_one_message(call("models", empty), 2, "holds no model", "pipeline run TASK")


FULL = "error: standard output: No space left on device"
CLOSED = "error: standard output: is closed"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is always full")
@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("command", "buffered", "code", "said"),
    [
        ("list > /dev/full", True, 73, FULL),
        ("--help > /dev/full", True, 73, FULL),
        ("doctor > /dev/full", True, 73, FULL),
        ("doctor > /dev/full", False, 73, FULL),
        ("predict {0}/m {0}/in.csv {0}/o.csv > /dev/full", True, 73, FULL),
        ("list >&-", True, 73, CLOSED),
        ("doctor >&-", True, 73, CLOSED),
        ("list fligths 2>&- >/dev/null", True, 2, ""),
        ("explain fligths 2>/dev/full", True, 2, ""),
    ],
)
def test_an_output_that_nothing_takes_is_one_sentence(
    command: str, buffered: bool, code: int, said: str, tmp_path: Path
) -> None:
    X.to_csv(tmp_path / "in.csv", index=False)
    pipeline.save(model(), tmp_path / "m")
    line = f"{quote(sys.executable)} -m pipeline {command.format(quote(str(tmp_path)))}"
    done = subprocess.run(
        line, shell=True, cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"},
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (code, bool(said)), done.stderr
    assert done.stderr.startswith(said)
