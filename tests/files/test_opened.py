"""A file has the same values whole, in batches and in partitions, whatever it is packed in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.errors import ConfigError, DataError
from pipeline.files.opened import TableStream, open_sources
from pipeline.files.read import read_arrow
from pipeline.files.sniff import sniff
from pipeline.files.table_format import Date, Duration, Number, TableFormat, Text, Time
from pipeline.table import partitioned

COLUMNS = {
    "price": Number(decimal=",", thousands=".", unit="€", stray="missing"),
    "sold": Date(format="%d.%m.%Y"),
    "at": Time(format="%H:%M"),
    "long": Duration(),
    "zip": Text(),
    "town": Text(missing=("k.A.",)),
}
FORMAT = TableFormat(delimiter=";", missing=("?",), columns=COLUMNS)
KINDS = {"price": "number", "sold": "date", "at": "date", "long": "number",
         "zip": "text", "town": "text", "n": "number", "word": "text"}  # fmt: skip
CELLS = pd.DataFrame(
    {
        "price": ["1.234,50 €", "?", "7,00 €", "oops"] * 5,
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


def stream(path: Path, kinds: dict[str, str], format: TableFormat | None = None) -> TableStream:
    sources = open_sources(path, format)
    return TableStream(path, sources, sources[0].names, kinds, format)


@pytest.fixture(params=CONTAINERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    CONTAINERS[request.param](tmp_path / request.param)
    return tmp_path / request.param


def test_a_format_reads_each_container_to_the_same_values(path: Path) -> None:
    table = read_arrow(path, FORMAT)
    for name, values in WANTED.items():
        assert table[name].to_pylist() == values * 5, name
    assert table["word"].to_pylist()[:4] == ["a;b", "007", None, "x\ny"]


@pytest.mark.filterwarnings("ignore:.*are read as missing")
@pytest.mark.parametrize("size", [1, 6, 99])
def test_batches_have_the_values_of_the_whole_table(path: Path, size: int) -> None:
    whole = read_arrow(path, FORMAT)
    file = stream(path, KINDS, FORMAT)
    batches = pa.concat_tables(file.tables(size), promote_options="permissive")
    for name in [*WANTED, "town"]:
        assert batches[name].to_pylist() == whole[name].to_pylist(), name


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "folder"])
def test_a_cell_that_does_not_fit_is_named_with_its_row_in_the_file(
    name: str, tmp_path: Path
) -> None:
    CONTAINERS[name](tmp_path / name)
    price = Number(decimal=",", thousands=".", unit="€")
    strict = TableFormat(delimiter=";", columns={"price": price}, missing=("?",))
    with pytest.raises(DataError, match="column 'price' holds 'oops' in row 3"):
        read_arrow(tmp_path / name, strict)
    with pytest.raises(DataError, match="column 'price' holds 'oops' in row 3"):
        list(stream(tmp_path / name, {}, strict).tables(2))


def test_columns_of_json_have_one_type_in_all_batches(tmp_path: Path) -> None:
    rows = [{"i": 1, "f": 1, "d": "2024-01-31"}, {"f": 2.5, "d": None, "b": True}, {"b": None}]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    tables = list(stream(path, {}).tables(1))
    assert [str(each.type) for each in tables[0].schema] == ["int64", "double", "string", "bool"]
    assert pa.concat_tables(tables).equals(read_arrow(path))
    path.write_text(json.dumps(rows))
    assert pa.concat_tables(tables).equals(read_arrow(path))


def test_memory_does_not_grow_with_a_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a;b\n" + b"0.123456789;x\n" * 3_000_000))
    most = 0
    for table in stream(path, {"a": "number", "b": "text"}).tables(10_000):
        most = max(most, pa.total_allocated_bytes())
        del table
    assert most < 150e6 < 3_000_000 * 60


def test_blanks_around_names_are_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "spaced.csv"
    path.write_text("a | b | c\n1 | 2 | x\n3 | 4 | y\n")
    found = sniff(path)
    assert any("spaces around the column names" in note for note in found.notes)
    assert read_arrow(path, found.format).column_names == ["a", "b", "c"]
    whole = pa.concat_tables(stream(path, {}, found.format).tables(1))
    assert whole.select(["a", "b"]).to_pydict() == {"a": [1, 3], "b": [2, 4]}
    assert read_arrow(path).column_names != ["a", "b", "c"]


def test_a_word_that_is_read_as_missing_is_told_and_may_be_a_value(tmp_path: Path) -> None:
    word = "None"
    path = tmp_path / "lands.csv"
    path.write_text("land,size\n" + f"DE,1\n{word},NA\n,3\nFR,4\n" * 9)
    found = sniff(path)
    (note,) = found.notes
    assert note.startswith(f"'land': read as missing: {word!r} (9 values); to keep them")
    assert read_arrow(path, found.format)["land"].null_count == 18
    kept = sniff(path, keep=[word]).format
    assert kept == TableFormat(columns={"land": Text(values=(word,))})
    whole = pa.concat_tables(stream(path, {}, kept).tables(5))
    for table in (read_arrow(path, kept), whole):
        assert table["land"].to_pylist()[:4] == ["DE", word, None, "FR"]
        assert table["size"].null_count == 9


def test_training_reads_what_a_table_is_read_to(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = pipeline.read_table(path, FORMAT)
    features = [name for name in WANTED if name != "price"]
    X, y = pipeline.read(path, features, "price", format=FORMAT)
    pd.testing.assert_frame_equal(X, wanted[features])
    np.testing.assert_array_equal(y, wanted["price"])
    monkeypatch.setattr(partitioned, "room", lambda device: 10)
    with pytest.raises(DataError, match="to read it in partitions, use Parquet without a format"):
        pipeline.read(path, features, "price", format=FORMAT)


def test_conditions_are_for_parquet(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.csv", "t.jsonl"):
        CONTAINERS[name](tmp_path / name)
    rows = [("zip", "==", "01067")]
    X, y = pipeline.read(tmp_path / "t.parquet", ["price"], "zip", rows=rows)
    assert (len(X), set(y)) == (5, {"01067"})
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        with pytest.raises(ConfigError, match="is supported only for Parquet without a format"):
            pipeline.read(tmp_path / name, ["price"], "zip", rows=rows, format=FORMAT)


def test_damage_is_named_and_nobody_is_told_to_make_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    pq.write_table(pa.table({"a": np.arange(1e4), "y": np.arange(1e4)}), path,
                   write_page_checksum=True)  # fmt: skip
    data = bytearray(path.read_bytes())
    data[len(data) // 4] ^= 1
    path.write_bytes(data)
    for read in (lambda: pipeline.read(path, ["a"], "y"), lambda: [*stream(path, {}).tables(99)]):
        with pytest.raises(DataError, match="mine.parquet: cannot be read: .*CRC") as caught:
            read()
        assert "`" not in str(caught.value)


def test_damaged_words_of_pandas_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1], "y": [1]}).to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b'{"index_columns"', b'{"index_columns\x01'))
    with pytest.raises(DataError, match="t.parquet: cannot be read"):
        pipeline.read(path, ["a"], "y")


def test_a_format_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format='csv' is not a TableFormat"):
        pipeline.read_table(tmp_path / "a.csv", "csv")  # type: ignore[arg-type]
