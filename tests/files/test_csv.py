"""A file has one set of values, those of pandas, in training, prediction and new tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.errors import DataError
from pipeline.files import csv, read
from pipeline.files.opened import TableStream, open_sources
from pipeline.files.table_format import TableFormat
from pipeline.table.convert import from_arrow
from pipeline.table.schema import Schema

TIMES = 20
"""How often the rows of a case are repeated: enough for several partitions and batches."""

FILES = {
    "NA": "a,n\nNA,1\nx,2\n",
    "<NA>": "a,n\n<NA>,1\nx,<NA>\n",
    "nan": "a,n\nnan,nan\nNaN,2\nx,-nan\n",
    "empty": "a,n\n,1\nx,\n",
    "quoted empty": 'a,n\n"",""\nx,2\n',
    "no marks": "a,n\n-,1\n?,2\n.,3\nna,4\nNAN,5\nmissing,6\n",
    "a mark between blanks": "a,n\n NA,1\nNA ,2\nx,3\n",
    "semicolons": "a;n\nNA;1\nx,y;2\n",
    "a delimiter in a name": '"a;b;c",n\nNA,1\nx,2\n',
    "a line in a name": '"a\nb",n\nNA,1\nx,2\n',
    "lines in cells": 'a,n\n"x\ny",1\n"x,y\n\n",2\n"say ""NA""",3\n',
    "an inch": 'a,n\n5" pipe,1\n"5"" pipe",2\nx"y"z,3\n',
    "truth": "a,n\ntrue,1\nfalse,2\n",
    "truth with gaps": "a,n\nTrue,1\nNA,2\nFalse,3\n",
    "truth and numbers": "a,n\nTrue,1\n1,2\n0,3\nFalse,4\n",
    "blanks around texts": "a,n\n x,1\nx ,2\nx,3\n",
    "blanks around numbers": "a,n\nx, 1\ny,2 \nz,\t3\n",
    "integers with gaps": "a,n\nx,1\ny,\nz,3\n",
    "leading zeros": "a,n\n007,01\n01,02\nA1,03\n",
    "beyond 64 bits": "a,n\nA,18446744073709551615\nB,9223372036854775808\n",
    "plus signs": "a,n\n+4,x\n5,y\n",
    "a plus sign beyond 53 bits": "a,n\n+9007199254740993,x\n5,y\n",
    "just beyond 63 bits": "a,n\n9223372036854775808,x\n9223372036854775808,y\n",
    "one quoted line": 'a,n\n"x\ny",1\nz,2\n',
    "hexadecimal": "a,n\n0x1F,1\n2,0X2\n",
    "a mark of UTF-8": "\ufeffa,n\nNA,1\nx,2\n",
    "empty lines": "a,n\n\nNA,1\n\nx,2\n",
    "a column without a name": ",a,n\n1,NA,1\n2,x,2\n",
}


UNEVEN = {
    "digits last": "a,n\n" + "x,1\n" * 60 + "1.0,2\n" * 40,
    "a decimal at the end": "a,n\n" + "1,2\n" * 60 + "0.5,3.5\n" * 3,
    "nothing at first": "a,n\n" + ",\n" * 60 + "1.5,x\n" * 3,
    "truth and then a number": "a,n\n" + "True,1\nFalse,2\n" * 30 + "1,3\n" * 3,
    "unsigned beside a negative one": "a,n\n" + "-1,1\n" * 60 + "18446744073709551615,3\n" * 3,
    "hexadecimal at the end": "a,n\n" + "1,2\n" * 120 + "0x1F,-0x2\n" * 3,
    "upper hexadecimal at the end": "a,n\n" + "1,2\n" * 120 + "0X1F,3\n" * 3,
    "truth after many gaps": "a,n\n" + ",1\n" * 120 + "True,1\nFalse,2\n" * 3,
    "a mark between blanks at the end": "a,n\n" + "0.5,1.5\n" * 120 + " nan,NaN \n" * 3,
    "a long cell": "a,n\n" + "x,1\n" * 60 + f'"{"y" * 200_000}\n",2\n' * 2,
}
"""Files of which a part by itself looks like something else."""

SEPARATORS = {"semicolons": ";"}
HEADS = {"a line in a name": 2}
"""Lines of the header, where it has more than one."""


DATES = {
    "days": (["2024-01-31", "NA", "1999-12-31"], ["2024-01-31", None, "1999-12-31"]),
    "times": (["2024-01-31T10:00:30.5", "1999-12-31 23"],
              ["2024-01-31 10:00:30.5", "1999-12-31 23:00"]),
    "times of UTC": (["2024-01-31T10:00Z", "", "1999-12-31 10:00+02:00"],
                     ["2024-01-31 10:00Z", None, "1999-12-31 08:00Z"]),
}  # fmt: skip
"""Cells that are dates to us and text to pandas, and the dates."""
TEXTS = {
    "with and without an offset": ["2024-01-31", "2024-01-31T10:00Z"],
    "beside a word": ["2024-01-31", "today"],
    "American": ["01/31/2024", "12/31/2024"],
}


@pytest.fixture(params=[*FILES, *UNEVEN])
def case(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def path(case: str, tmp_path: Path) -> Path:
    """Return a file with the rows of the case many times."""
    lines = FILES.get(case, "").splitlines(keepends=True)
    head = HEADS.get(case, 1)
    text = UNEVEN.get(case) or "".join(lines[:head] + lines[head:] * TIMES)
    return written(tmp_path, text)


@pytest.fixture(autouse=True)
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut a file into many batches, where its cells are not longer than one."""
    if "a long cell" not in request.node.name and "zero byte" not in request.node.name:
        monkeypatch.setattr(csv, "_BLOCK", 150)


def written(folder: Path, text: str) -> Path:
    (folder / "rows.csv").write_text(text, encoding="utf-8", newline="")
    return folder / "rows.csv"


def column(folder: Path, cells: list[str]) -> Path:
    """Return a file with one column of cells many times, and a target."""
    rows = [f"{cell};{i % 2}" for i, cell in enumerate(cells * TIMES)]
    return written(folder, "\n".join(["a;n", *rows, ""]))


def reference(path: Path, case: str) -> pd.DataFrame:
    """Return what people read: pandas' defaults, but for the delimiter."""
    return pd.read_csv(path, sep=SEPARATORS.get(case, ","))


def train(path: Path, known: pd.DataFrame) -> pd.DataFrame:
    *features, target = known
    X, y = pipeline.read(path, features, target)
    return X.assign(**{target: y})


def predict(path: Path, known: pd.DataFrame) -> pd.DataFrame:
    """Return what a model that was fitted on a frame is given, some rows at a time."""
    columns = Schema.fit(known)[0].columns or {}
    return streamed(path, known, {name: each.kind for name, each in columns.items()})


def streamed(path: Path, known: pd.DataFrame, kinds: dict[str, str] | None = None) -> pd.DataFrame:
    stream = TableStream(path, open_sources(path), list(known), kinds or {})
    tables = map(from_arrow, stream.tables(7))
    return pd.concat([table.astype(object) for table in tables])


def start_a_task(path: Path, known: pd.DataFrame) -> pd.DataFrame:
    return from_arrow(read.read_arrow(path))


WAYS = [train, predict, streamed, start_a_task]


def same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Hold values to others: texts, numbers and what is missing, to the last bit."""
    assert list(found) == list(wanted)
    for name in wanted:
        assert values(found[name]) == values(wanted[name]), name


def values(series: pd.Series) -> list[Any]:
    """Return Python objects; True is no 1 and "1" neither, and what is missing is None."""
    objects = [None if pd.isna(value) else value for value in series.tolist()]
    return [(isinstance(value, bool), value) for value in objects]


@pytest.mark.quick(35)
@pytest.mark.parametrize("way", WAYS)
def test_a_file_has_the_values_of_its_frame(path: Path, case: str, way: Any) -> None:
    wanted = reference(path, case)
    same(way(path, wanted), wanted)


@pytest.mark.parametrize("case", DATES)
@pytest.mark.parametrize("way", WAYS)
def test_dates_are_dates(case: str, way: Any, tmp_path: Path) -> None:
    cells, dates = DATES[case]
    found = pd.Series(dates * TIMES, dtype=object)
    wanted = pd.DataFrame({"a": pd.to_datetime(found, format="mixed")})
    wanted["n"] = np.arange(len(wanted)) % 2
    same(way(column(tmp_path, cells), wanted), wanted)


@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_date_in_each_row_is_text(case: str, way: Any, tmp_path: Path) -> None:
    wanted = pd.DataFrame({"a": TEXTS[case] * TIMES})
    wanted["n"] = np.arange(len(wanted)) % 2
    same(way(column(tmp_path, TEXTS[case]), wanted), wanted)


@pytest.mark.parametrize(
    ("cells", "kind", "says"),
    [
        (["1", "x"], "number", "'x' in row 1, but the model was fitted on numbers"),
        (["1", "True"], "number", "'True' in row 1"),
        (["True", "1"], "boolean", "'1' in row 1"),
        (["1", "2024-01-31"], "number", "'2024-01-31' in row 1"),
        (
            ["2024-01-31", "x"],
            "date",
            "'x' in row 1, .* fitted on dates; write a date such",
        ),
        (["2024-01-31", "2024-01-31T10:00Z"], "date", "'2024-01-31T10:00Z' in row 1"),
    ],
)
def test_a_cell_that_the_model_cannot_read_is_named(
    cells: list[str], kind: str, says: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "\n".join(["a", *cells[:1] * 9, cells[1], ""]))
    says = says.replace("row 1", "row 9")
    with pytest.raises(DataError, match=rf"rows\.csv: column 'a' holds {says}"):
        list(TableStream(path, open_sources(path), ["a"], {"a": kind}).tables(4))


NUMBERS_AND_NEARLY = (
    "1", "-7", "007", "1.5", "1e5", " 2", "3 ", "+4", "0x1F", "-0X2", "inf", "-inf", "nan", " nan",
    "NaN ", "", "NA", "1.", "-0", "9223372036854775808", "18446744073709551615", "1" * 20,
    "1" * 20 + ".5", "True", "2024-01-31", "2024-01-31T10:00Z", "x", "1,5", '"1"', '"1.5"', '"NA"',
)  # fmt: skip


@settings(
    max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    first=st.lists(st.sampled_from(["1", "+4", "1.5", ""]), min_size=1, max_size=3)
    | st.lists(st.sampled_from(NUMBERS_AND_NEARLY), min_size=1, max_size=3),
    odd=st.lists(st.sampled_from(NUMBERS_AND_NEARLY), max_size=3),
    times=st.sampled_from([1, 60]),
    small=st.sampled_from([0, 1 << 18]),
)
def test_types_that_are_seen_before_change_no_value(
    first: list[str],
    odd: list[str],
    times: int,
    small: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the first rows of large files, and by Arrow in small ones: they only make it faster."""
    monkeypatch.setattr(csv, "_SAMPLE", 200)
    monkeypatch.setattr(csv, "_SMALL", small)
    cells = [*first * times, *odd]
    path = written(tmp_path, "\n".join(["a;n", *(f"{cell};{cell}" for cell in cells), ""]))
    (opened,) = open_sources(path)
    for source in (opened, replace(opened, raw=("a",))):
        texts = source.table(["a", "n"])
        wanted = pa.table({name: csv.infer(texts[name]) for name in texts.column_names})
        assert source.values(["a", "n"]).equals(wanted)


@pytest.mark.parametrize("cell", ["+5", "0x1F"])
def test_a_number_behind_a_letter_that_parts_cells_is_read_as_ever(
    cell: str, tmp_path: Path
) -> None:
    source = csv.CsvSource.open(written(tmp_path, f"nam\n7a{cell}\n"), csv.Given(delimiter="a"))
    assert source.values(["n", "m"]).equals(
        pa.table({"n": pa.array([7]), "m": csv.infer(pa.array([cell]))})
    )


def test_files_of_a_folder_have_one_type(tmp_path: Path) -> None:
    for name, cells in {"a": "1.5", "b": "1\n", "c": "", "d": "2\n7"}.items():
        (tmp_path / f"{name}.csv").write_text(f"x,n\n{cells.strip()},1\n".replace("\n7", ",1\n7"))
    assert values(pipeline.read_table(tmp_path)["x"]) == [
        (False, each) for each in (1.5, 1.0, None, 2.0, 7.0)
    ]
    (tmp_path / "e.csv").write_text("x,n\ntwo,1\n")
    assert values(pipeline.read_table(tmp_path)["x"]) == [
        (False, each) for each in ("1.5", "1", None, "2", "7", "two")
    ]


def test_a_format_without_columns_says_what_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "a,n\n1.5,x\n?,y\n")
    found = pipeline.read_table(path, TableFormat(missing=("?", "y")))
    assert values(found["a"]) == [(False, 1.5), (False, None)]
    assert values(found["n"]) == [(False, "x"), (False, None)]
