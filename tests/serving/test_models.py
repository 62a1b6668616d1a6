"""What a model remembers of its table, and commands whose output nothing takes."""

from __future__ import annotations

import os
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
from pipeline.errors import DataError
from pipeline.files.table_format import Date, Number, TableFormat, Text
from pipeline.serving.save import About
from tests.commands import ROOT

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


def test_a_folder_of_models_names_one(tmp_path: Path) -> None:
    pipeline.save(model(), tmp_path / "houses" / "linear.model")
    with pytest.raises(DataError, match=r"pass one of them, such as .*linear\.model"):
        pipeline.load(tmp_path / "houses")


FULL = "error: standard output: No space left on device"
CLOSED = "error: standard output: is closed"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is always full")
@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("command", "buffered", "code", "said"),
    [
        ("list > /dev/full", True, 73, FULL),
        ("doctor > /dev/full", False, 73, FULL),
        ("predict {0}/m {0}/in.csv {0}/o.csv > /dev/full", True, 73, FULL),
        ("list >&-", True, 73, CLOSED),
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
