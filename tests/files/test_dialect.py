"""Cells are parted as the first lines agree; what is above the names is skipped, and said."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from pipeline.errors import DataError
from pipeline.files.read import read_arrow
from pipeline.files.sniff import sniff
from pipeline.files.table_format import TableFormat

DELIMITED = {
    "a comma in a name": (b"Messung;Wert, netto\na;1,5\nb;2,5\n", ";", 2),
    "as many commas as semicolons": (b"x;y,z\n1,0;2\n3,5;4\n", ";", 2),
    "decimal commas and tabs": (b"a\tb\n1,5\t2\n2,5\t3\n", "\t", 2),
    "thousands": (b"a;b\n$1,234.50;x\n$2,234.50;y\n", ";", 2),
    "lists in cells": (b"id,tags\n1,a;b;c\n2,a\n3,b;c\n", ",", 2),
    "prose in cells": (b"a|b\n1|x, y\n2|z, and more; so\n", "|", 2),
    "one column of prose": (b"review\nnice, but slow\nbad\nok, ok, ok\n", None, 1),
    "one column": (b"n\n1\n2\n", None, 1),
    "Excel's own word": (b"sep=;\r\na;b,c\r\n1,2;3\r\n", ";", 2),
    "blanks beside tabs": (b"x\ty\n1 2\t3\n2 3\t4\n", "\t", 2),
    "ends of lines of all kinds": (b"a;b\r\n1;x\n2;y\r3;z\r\n", ";", 2),
}

TITLES = {
    "a title and a blank line": b"Prices of 2024\n\na,b,c\n1,2,3\n4,5,6\n",
    "as spreadsheets export it": b"Prices;;\n;;\na;b;c\n1;2;3\n4;5;6\n",
    "comments": b"# by x\n# of, 2024\na,b,c,d\n1,2,3,4\n4,5,6,7\n",
    "with a blank line in front of two columns": b"Station X\n\na,b\n1,5\n4,5\n",
    "in quotes": b'"Prices,\nall of 2024"\na,b,c\n1,2,3\n4,5,6\n',
}

NAMES = {
    "short names": (
        b"a,b\nx,y,z\nu,v,w\n",
        "row 0 should have 2 fields but has 3: 'x,y,z'; .*name of the first",
    ),
    "inches": (b'a,b\n1,5" pipe\n2\n', "row 1 should have 2 fields but has 1"),
    "one long row": (b"a,b\n1,2\n\n3,4,5\n", "row 1 should have 2 fields but has 3: '3,4,5'"),
    "a decimal comma in one column": (
        b"n\n1,5\n2,25\n",
        "row 0 should have 1 field but has 2: '1,5'.*skip_rows",
    ),
    "two of one name": (b"a,b,a\n1,2,3\n", r"columns have the same name: \['a'\]"),
    "an open quote": (b'a,b\n1,x\n2,"y\n3,z\n', "a quote opened in row 1 is not closed"),
    "an open quote at the end": (b'a,b\n1,x\n2,"y', "a quote opened in row 1 is not closed"),
}


def written(folder: Path, data: bytes) -> Path:
    (folder / "t.csv").write_bytes(data)
    return folder / "t.csv"


@pytest.mark.quick(22)
@pytest.mark.parametrize("case", DELIMITED)
def test_lines_agree_on_a_delimiter(case: str, tmp_path: Path) -> None:
    data, delimiter, width = DELIMITED[case]
    path = written(tmp_path, data)
    found = sniff(path).format
    assert delimiter in (None, found.delimiter)
    if data.count(b"\n") > 1:
        table = read_arrow(path, structs.replace(found, columns={}))
        assert table.num_columns == width
        assert table.equals(read_arrow(path))


@pytest.mark.parametrize("case", TITLES)
def test_lines_above_the_names_are_skipped_and_said(case: str, tmp_path: Path) -> None:
    path = written(tmp_path, TITLES[case])
    found = sniff(path)
    table = read_arrow(path, structs.replace(found.format, columns={}))
    assert table.column_names[:2] == ["a", "b"]
    assert table["a"].to_pylist() == [1, 4]
    assert "lines above the column names are skipped: '" in found.notes[0]
    with pytest.warns(UserWarning, match="above the column names are skipped: '"):
        assert table.equals(read_arrow(path))


@pytest.mark.parametrize("case", NAMES)
def test_rows_that_do_not_fit_the_names_are_named(case: str, tmp_path: Path) -> None:
    data, says = NAMES[case]
    path = written(tmp_path, data)
    with pytest.raises(DataError, match=rf"(?s)t.csv: .*{says}"):
        read_arrow(path)


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"a,b\n1,2\n\n\n", ["a", "b"]),
        (b"\n\na,b\n1,2\n", ["a", "b"]),
        (b"a,b,\n1,2,\n", ["a", "b", "Unnamed: 2"]),
        (b",b\n1,2\n", ["Unnamed: 0", "b"]),
    ],
)
def test_blank_lines_and_names_are_taken_as_pandas_does(
    data: bytes, names: list[str], tmp_path: Path
) -> None:
    assert read_arrow(written(tmp_path, data)).column_names == names


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("5.1,3.5,1.4,setosa", True), ("1,0,1", True), ("842302,M,17.99,10.38", True),
        ("0,1,2", False), ("city,2019,2020", False), ("2019,2020,2021", False), ("a,b,3", False),
    ],
)  # fmt: skip
def test_names_that_look_like_a_row_are_said(names: str, said: bool, tmp_path: Path) -> None:
    path = written(tmp_path, f"{names}\n{names}\n".encode())
    if len(set(names.split(","))) < len(names.split(",")):
        with pytest.raises(DataError, match="same name: .'1'.*line of column names"):
            sniff(path)
    else:
        assert any("add a line of column names" in note for note in sniff(path).notes) == said


def test_what_else_may_be_meant_is_said(tmp_path: Path) -> None:
    found = sniff(written(tmp_path, b"a   b\n1   x\n2\n"))
    assert "pass a delimiter (--delimiter), or read a fixed-width file" in found.notes[0]


def test_a_given_delimiter_that_parts_nothing_gives_way(tmp_path: Path) -> None:
    path = written(tmp_path, b"a|b\n1|2\n")
    assert read_arrow(path, TableFormat(delimiter=";")).column_names == ["a", "b"]
