"""One file, one set of values: every reader of CSV is held to `pandas.read_csv`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import pipeline
from pipeline import Accelerated, save
from pipeline.data import csv
from pipeline.errors import DataError
from tests.commands import call

NULLABLE = {pa.int64(): pd.Int64Dtype()}

TIMES = 20
"""How often the rows of a case are repeated: enough for several partitions and batches."""

FILES = {
    "NA": "a,n\nNA,1\nx,2\n",
    "N/A": "a,n\nN/A,1\nx,2\n",
    "n/a": "a,n\nn/a,1\nx,2\n",
    "null": "a,n\nnull,1\nNULL,2\nx,3\n",
    "None": "a,n\nNone,1\nx,2\n",
    "<NA>": "a,n\n<NA>,1\nx,<NA>\n",
    "nan": "a,n\nnan,nan\nNaN,2\nx,-nan\n",
    "empty": "a,n\n,1\nx,\n",
    "quoted NA": 'a,n\n"NA","NA"\nx,2\n',
    "quoted empty": 'a,n\n"",""\nx,2\n',
    "no marks": "a,n\n-,1\n?,2\n.,3\nna,4\nNAN,5\nmissing,6\n",
    "a mark between blanks": "a,n\n NA,1\nNA ,2\nx,3\n",
    "semicolons": "a;n\nNA;1\nx,y;2\n",
    "tabs": "a\tn\nNA\t1\nx\t2\n",
    "bars": "a|n\nNA|1\nx|2\n",
    "a delimiter in a name": '"a;b;c",n\nNA,1\nx,2\n',
    "a line in a name": '"a\nb",n\nNA,1\nx,2\n',
    "lines in cells": 'a,n\n"x\ny",1\n"x,y\n\n",2\n"say ""NA""",3\n',
    "an inch": 'a,n\n5" pipe,1\n"5"" pipe",2\nx"y"z,3\n',
    "truth": "a,n\ntrue,1\nfalse,2\n",
    "truth in capitals": "a,n\nTRUE,1\nFalse,2\ntrue,3\n",
    "truth with gaps": "a,n\nTrue,1\nNA,2\nFalse,3\n",
    "truth and numbers": "a,n\nTrue,1\n1,2\n0,3\nFalse,4\n",
    "truth between blanks": "a,n\n True,1\nFalse,2\n",
    "blanks around texts": "a,n\n x,1\nx ,2\nx,3\n",
    "blanks around numbers": "a,n\nx, 1\ny,2 \nz,\t3\n",
    "a blank for a number": "a,n\nx, \ny,2\nz,3\n",
    "integers with gaps": "a,n\nx,1\ny,\nz,3\n",
    "signs": "a,n\nx,+1\ny,-2\nz,+3\n",
    "decimals": "a,n\nx,1.5\ny,.5\nz,2.\nw,1e3\nv,-0.25\n",
    "digits that pandas cuts": "a,n\nx,0.012345678901234567\ny,1.2345678901234567e-11\nz,2\n",
    "no decimals": "a,n\nx,1_0\ny,0x10\nz,1d3\nw,2\n",
    "hexadecimal": "a,n\n0x10,1\n0xff,2\n",
    "a decimal comma": 'a,n\nx,"1,5"\ny,"2,5"\n',
    "leading zeros": "a,n\n007,01\n01,02\nA1,03\n",
    "leading zeros of numbers": "a,n\n007,1\n7,2\n08,3\n",
    "beyond 64 bits": "a,n\nA,18446744073709551615\nB,9223372036854775808\n",
    "an empty column": "a,n,e\nx,1,\ny,2,\n",
    "a mark of UTF-8": "\ufeffa,n\nNA,1\nx,2\n",
    "ends of lines of Windows": "a,n\r\nNA,1\r\nx,2\r\n",
    "empty lines": "a,n\n\nNA,1\n\nx,2\n",
    "a column without a name": ",a,n\n1,NA,1\n2,x,2\n",
    "beyond ASCII": "a,n\nÅ,1\n日本,2\n",
}


UNEVEN = {
    "digits first": "a,n\n" + "007,1\n" * 60 + "x,2\n" * 3,
    "digits last": "a,n\n" + "x,1\n" * 60 + "1.0,2\n" * 40,
    "a gap at the end": "a,n\n" + "1,2\n" * 60 + ",\n" * 3,
    "a decimal at the end": "a,n\n" + "1,2\n" * 60 + "0.5,3.5\n" * 3,
    "a word at the end": "a,n\n" + "1,2\n" * 60 + "x,3\n" * 3,
    "nothing at first": "a,n\n" + ",\n" * 60 + "1.5,x\n" * 3,
    "truth with a gap at the end": "a,n\n" + "True,1\nFalse,2\n" * 30 + ",3\n" * 3,
    "truth and then a number": "a,n\n" + "True,1\nFalse,2\n" * 30 + "1,3\n" * 3,
    "unsigned at the end": "a,n\n" + "1,1\n" * 60 + "18446744073709551615,3\n" * 3,
    "unsigned beside a negative one": "a,n\n" + "-1,1\n" * 60 + "18446744073709551615,3\n" * 3,
    "a long cell": "a,n\n" + "x,1\n" * 60 + f'"{"y" * 200_000}\n",2\n' * 2,
}
"""Files of which a part by itself looks like something else."""

SEPARATORS = {"semicolons": ";", "tabs": "\t", "bars": "|"}
HEADS = {"a line in a name": 2}
"""Lines of the header, where it has more than one."""


@pytest.fixture(params=[*FILES, *UNEVEN])
def case(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def path(case: str, tmp_path: Path) -> Path:
    """Return a file with the rows of the case many times."""
    lines = FILES.get(case, "").splitlines(keepends=True)
    head = HEADS.get(case, 1)
    text = UNEVEN.get(case) or "".join(lines[:head] + lines[head:] * TIMES)
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8", newline="")
    return tmp_path / "rows.csv"


def reference(path: Path, case: str) -> pd.DataFrame:
    """Return what people read: pandas' defaults, but for the delimiter."""
    return pd.read_csv(path, sep=SEPARATORS.get(case, ","))


def same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Hold values to others: texts, numbers and what is missing, to the last bit."""
    assert list(found) == list(wanted)
    for name in wanted:
        assert values(found[name]) == values(wanted[name]), name


def values(column: pd.Series) -> list[Any]:
    """Return Python objects; True is no 1 and "1" neither, and what is missing is None."""
    objects = [None if value is pd.NA or value != value else value for value in column.tolist()]
    return [(isinstance(value, bool), value) for value in objects]


def test_predictions_of_a_file_are_those_of_its_frame(
    path: Path, case: str, tmp_path: Path
) -> None:
    """The probabilities of an encoder of every value: one that is read otherwise shows."""
    frame = reference(path, case)
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = Accelerated(make_pipeline(encoder, LogisticRegression()), device="cpu")
    model.fit(frame, np.arange(len(frame)) % 3 == 0)
    save(model, tmp_path / "model")
    done = call("predict", tmp_path / "model", path, tmp_path / "out", "--rows", 7,
                "--device", "cpu", "--allow-empty", "e")  # fmt: skip
    assert done.code == 0, done.err
    found = pd.read_parquet(tmp_path / "out")["probability"]
    np.testing.assert_array_equal(found, model.predict_proba(frame)[:, 1])


def test_a_file_is_read_as_its_frame(path: Path, case: str) -> None:
    wanted = reference(path, case)
    *features, target = wanted
    X, y = pipeline.read(path, features, target)
    same(X, wanted[features])
    assert values(pd.Series(y)) == values(pd.Series(wanted[target].to_numpy()))


def test_partitions_are_read_as_the_frame(path: Path, case: str) -> None:
    wanted = reference(path, case)
    *features, target = wanted
    X, y = pipeline.scan(path, features, target, partition_bytes=40)
    assert X.npartitions > 2
    same(X.compute(), wanted[features])
    assert X.compute().dtypes.tolist() == X.dtypes.tolist()
    assert values(pd.Series(y)) == values(pd.Series(wanted[target].to_numpy()))


def test_a_table_is_adopted_as_the_frame(path: Path, case: str) -> None:
    same(csv.read_file(path).to_pandas(), reference(path, case))


def test_a_model_of_what_is_missing_answers_the_same_for_the_file(tmp_path: Path) -> None:
    """The target is whether a cell is NA: two readings of it give two answers."""
    path = tmp_path / "rows.csv"
    path.write_text("a\n" + "NA\nx\ny\n" * TIMES)
    frame = pd.read_csv(path)
    model = Accelerated(make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()))
    save(model.fit(frame, frame["a"].isna()), tmp_path / "model")
    done = call("predict", tmp_path / "model", path, tmp_path / "out")
    assert done.code == 0, done.err
    found = pd.read_parquet(tmp_path / "out")["probability"]
    np.testing.assert_array_equal(found, model.predict_proba(frame)[:, 1])
    assert found[0] > 0.8 > 0.2 > found[1]


def test_integers_that_pandas_rounds_beside_a_gap_stay_exact(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,y\n" + f"{2**53 + 1},0\n,1\n{2**53 + 2},1\n" * TIMES)
    X, _ = pipeline.read(path, ["id"], "y")
    parts, _ = pipeline.scan(path, ["id"], "y", partition_bytes=40)
    for found in (
        X,
        parts.compute(),
        csv.read_file(path).to_pandas(types_mapper=NULLABLE.get),
    ):
        assert found["id"].dtype == "Int64"
        assert set(found["id"].dropna()) == {2**53 + 1, 2**53 + 2}


def test_kept_columns_are_as_all_their_cells_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [*(f"{i},{i},{i}" for i in range(60)), "60,0.5,x"]
    path.write_text("\n".join(["n,real,text", *lines, ""]))
    frame = pd.read_csv(path)
    model = Accelerated(LogisticRegression(), device="cpu").fit(frame[["n"]], frame["n"] > 30)
    save(model, tmp_path / "model")
    done = call("predict", tmp_path / "model", path, tmp_path / "out", "--rows", 7,
                "--copy-columns", "n,real,text")  # fmt: skip
    assert done.code == 0, done.err
    same(pd.read_parquet(tmp_path / "out")[["real", "text"]], frame[["real", "text"]])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,n\n1,2\n3\n", "Expected 2 columns, got 1"),
        ("a,n\n1,2\n3,4,5\n", "Expected 2 columns, got 3"),
        ("a,a,n\n1,2,3\n", r"columns with the same name: \['a'\]"),
        ("a,b\n1,2\n", "has no column 'n'"),
        ("a,n\nx\0y,2\n", "column 'a' holds a zero byte"),
        ("", "Empty CSV file"),
        ('"a,n\n' + "1,2\n" * 2_000, "a quote in the names is not closed"),
    ],
)
def test_what_is_no_table_is_refused_by_all(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    for read in (pipeline.read, pipeline.scan):
        with pytest.raises(DataError, match=rf"rows\.csv: .*{says}"):
            read(path, ["a"], "n")
