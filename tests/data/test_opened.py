"""A file has the same values whole and in batches, whatever it is packed in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pipeline.data.read import read_arrow
from pipeline.data.sniff import sniff
from pipeline.data.stream import TableFile
from pipeline.data.table_format import Boolean, Date, Duration, Number, TableFormat, Text, Time
from pipeline.errors import DataError

COLUMNS = {
    "price": Number(decimal=",", thousands=".", unit="€", stray="missing"),
    "late": Boolean(true=("x",), false=("",)),
    "sold": Date(format="%d.%m.%Y"),
    "at": Time(format="%H:%M"),
    "long": Duration(),
    "zip": Text(),
    "town": Text(missing=("k.A.",)),
}
FORMAT = TableFormat(delimiter=";", missing=("?",), columns=COLUMNS)
KINDS = {"price": "number", "late": "boolean", "sold": "date", "at": "date", "long": "number",
         "zip": "text", "town": "text", "n": "number", "word": "text"}  # fmt: skip
CELLS = pd.DataFrame(
    {
        "price": ["1.234,50 €", "?", "7,00 €", "oops"] * 5,
        "late": ["x", "", "NA", "X"] * 5,
        "sold": ["01.02.2018", "28.02.2018", "?", "31.12.2019"] * 5,
        "at": ["12:30", "00:05", "", "23:59"] * 5,
        "long": ["1:00:00", "0:30:00", "?", "2 days 00:00:00"] * 5,
        "zip": ["01067", "80331", "00501", "?"] * 5,
        "town": ["München", "muenchen", "k.A.", "NA"] * 5,
        "n": ["1", "2", "?", "4"] * 5,
        "word": ["a;b", "007", "?", "x\ny"] * 5,
    }
)
WANTED = {
    "price": [1234.5, None, 7.0, None],
    "late": [True, False, None, True],
    "sold": [pd.Timestamp(2018, 2, 1), pd.Timestamp(2018, 2, 28), None, pd.Timestamp(2019, 12, 31)],
    "at": [pd.Timestamp(1970, 1, 1, 12, 30), pd.Timestamp(1970, 1, 1, 0, 5), None,
           pd.Timestamp(1970, 1, 1, 23, 59)],
    "long": [3600.0, 1800.0, None, 172_800.0],
    "zip": ["01067", "80331", "00501", None],
}  # fmt: skip


def csv(path: Path) -> None:
    CELLS.to_csv(path, sep=";", index=False)


def lines(path: Path) -> None:
    CELLS.to_json(path, orient="records", lines=True, force_ascii=False)


def folder(path: Path) -> None:
    path.mkdir()
    for number, part in enumerate((CELLS[:9], CELLS[9:])):
        part.to_csv(path / f"{number}.csv", sep=";", index=False)


def packed(path: Path) -> None:
    path.write_bytes(gzip.compress(CELLS.to_csv(sep=";", index=False).encode("utf-16")))


CONTAINERS: dict[str, Callable[[Path], None]] = {
    "t.csv": csv,
    "t.csv.gz": packed,
    "t.jsonl": lines,
    "t.parquet": lambda path: pq.write_table(pa.table(CELLS), path, row_group_size=7),
    "t.feather": lambda path: pa.feather.write_feather(pa.table(CELLS), path, chunksize=7),
    "folder": folder,
}


@pytest.fixture(params=CONTAINERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    CONTAINERS[request.param](tmp_path / request.param)
    return tmp_path / request.param


def test_a_format_reads_each_container_to_the_same_values(path: Path) -> None:
    table = read_arrow(path, FORMAT)
    for name, values in WANTED.items():
        assert table[name].to_pylist() == values * 5, name
    assert table["word"].to_pylist()[:4] == ["a;b", "007", None, "x\ny"]


@pytest.mark.quick(3)
@pytest.mark.parametrize("size", [1, 6, 99])
def test_batches_have_the_values_of_the_whole_table(path: Path, size: int) -> None:
    whole = read_arrow(path, FORMAT)
    file = TableFile(path, None, KINDS, FORMAT)
    for skip in (0, 5):
        batches = pa.concat_tables(file.tables(size, skip), promote_options="permissive")
        for name in WANTED:
            assert batches[name].to_pylist() == whole[name].to_pylist()[skip:], name
        assert batches["town"].to_pylist() == whole["town"].to_pylist()[skip:]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "folder"])
def test_a_cell_that_does_not_fit_is_named_with_its_row_in_the_file(
    name: str, tmp_path: Path
) -> None:
    CONTAINERS[name](tmp_path / name)
    price = Number(decimal=",", thousands=".", unit="€")
    strict = TableFormat(delimiter=";", columns={"price": price}, missing=("?",))
    with pytest.raises(DataError, match="column 'price' holds 'oops' in row 3"):
        read_arrow(tmp_path / name, strict)
    with pytest.raises(DataError, match="column 'price' holds 'oops' in row 19"):
        list(TableFile(tmp_path / name, ["price"], KINDS, strict).tables(2, skip=16))


def test_frames_are_read_by_the_same_format() -> None:
    import polars

    for frame in (CELLS, pa.table(CELLS), polars.DataFrame(CELLS.to_dict("list"))):
        table = read_arrow(frame, FORMAT)
        for name, values in WANTED.items():
            assert table[name].to_pylist() == values * 5, name


def test_an_index_with_a_name_is_a_column() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="key"))
    assert read_arrow(frame).to_pydict() == {"key": ["x", "y"], "a": [1, 2]}
    assert read_arrow(frame.rename_axis(None)).to_pydict() == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1, 2], "a list is no table with names"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"same name: \['a'\]"),
        (pd.DataFrame({"a": [1, {"b": 2}]}), "column 'a' holds .* {'b': 2} in row 1"),
        (pd.DataFrame({"a": []}), "no rows"),
    ],
    ids=["list", "names", "values", "rows"],
)
def test_what_is_no_table_is_refused(values: object, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_arrow(values)


def test_columns_of_json_have_one_type_in_all_batches(tmp_path: Path) -> None:
    rows = [{"i": 1, "f": 1, "m": 1}, {"i": 2**63, "f": 2.5, "m": "n.a.", "b": True}, {"b": None}]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    tables = list(TableFile(path, None, {}).tables(1))
    assert [str(each.type) for each in tables[0].schema] == ["uint64", "double", "string", "bool"]
    assert pa.concat_tables(tables).equals(read_arrow(path))
    assert read_arrow(path)["m"].to_pylist() == ["1", "n.a.", None]


@pytest.mark.parametrize("written", ['{"when": "2024-01-31", "n": "5"}', "when,n\n2024-01-31,5\n"])
def test_text_is_read_by_the_kind_at_fit_where_there_is_no_format(
    written: str, tmp_path: Path
) -> None:
    (tmp_path / "t").write_text(written)
    (table,) = TableFile(tmp_path / "t", None, {"when": "date", "n": "number"}).tables(9)
    assert table.to_pylist() == [{"when": pd.Timestamp(2024, 1, 31), "n": 5.0}]


def test_memory_does_not_grow_with_a_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a;b\n" + b"0.123456789;x\n" * 3_000_000))
    most = 0
    for table in TableFile(path, None, {"a": "number", "b": "text"}).tables(10_000):
        most = max(most, pa.total_allocated_bytes())
        del table
    assert most < 150e6 < 3_000_000 * 60


@pytest.mark.parametrize("text", ["a, b ,c\n1,2,x\n3,4,y\n", "a | b | c\n1 | 2 | x\n3 | 4 | y\n"])
def test_blanks_around_names_are_left_out_and_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spaced.csv"
    path.write_text(text)
    found = sniff(path)
    assert any("blanks around the names" in note for note in found.notes)
    assert read_arrow(path, found.format).column_names == ["a", "b", "c"]
    whole = pa.concat_tables(TableFile(path, None, {}, found.format).tables(1))
    assert whole.select(["a", "b"]).to_pydict() == {"a": [1, 3], "b": [2, 4]}
    assert read_arrow(path).column_names != ["a", "b", "c"]


@pytest.mark.parametrize("word", ["NA", "None", "null"])
def test_a_word_that_is_read_as_missing_is_told_and_may_be_a_value(
    tmp_path: Path, word: str
) -> None:
    path = tmp_path / "lands.csv"
    path.write_text("land,size\n" + f"DE,1\n{word},NA\n,3\nFR,4\n" * 9)
    found = sniff(path)
    (note,) = found.notes
    assert note.startswith(f"'land': {word!r} (9 cells) read as missing; --keep")
    assert read_arrow(path, found.format)["land"].null_count == 18
    kept = sniff(path, keep=[word]).format
    assert kept == TableFormat(columns={"land": Text(values=(word,))})
    whole = pa.concat_tables(TableFile(path, None, {}, kept).tables(5))
    for table in (read_arrow(path, kept), whole):
        assert table["land"].to_pylist()[:4] == ["DE", word, None, "FR"]
        assert table["size"].null_count == 9
