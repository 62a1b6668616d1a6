"""Training reads what prediction and new tasks read: in memory, and in partitions."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.data import csv, partitioned
from pipeline.data.table_format import Boolean, Date, Number, TableFormat, Text, Time
from pipeline.errors import ConfigError, DataError

pytest.importorskip("dask.dataframe")
FORMAT = TableFormat(
    delimiter=";",
    missing=("?",),
    columns={
        "price": Number(decimal=",", thousands=".", unit="€", stray="missing"),
        "late": Boolean(true=("x",), false=("",)),
        "sold": Date(format="%d.%m.%Y"),
        "at": Time(format="%H:%M"),
        "zip": Text(),
    },
)
CELLS = pd.DataFrame(
    {
        "price": ["1.234,50 €", "?", "7,00 €", "oops"] * 20,
        "late": ["x", "", "NA", "X"] * 20,
        "sold": ["01.02.2018", "28.02.2018", "?", "31.12.2019"] * 20,
        "at": ["12:30", "00:05", "", "23:59"] * 20,
        "zip": ["01067", "80331", "00501", "?"] * 20,
        "word": ["ä", "007", "?", "x"] * 20,
        "y": ["yes", "no", "no", "yes"] * 20,
    }
)
FEATURES = list(CELLS)[:-1]


def folder(path: Path) -> None:
    path.mkdir()
    for number, part in enumerate((CELLS[:9], CELLS[9:])):
        part.to_csv(path / f"{number}.csv", sep=";", index=False)


def packed(path: Path) -> None:
    path.write_bytes(gzip.compress(CELLS.to_csv(sep=";", index=False).encode("utf-16")))


CONTAINERS: dict[str, Callable[[Path], None]] = {
    "t.csv": lambda path: CELLS.to_csv(path, sep=";", index=False),
    "latin.csv": lambda path: CELLS.to_csv(path, sep=";", index=False, encoding="cp1252"),
    "t.csv.gz": packed,
    "t.jsonl": lambda path: CELLS.to_json(path, orient="records", lines=True),
    "t.parquet": lambda path: pq.write_table(pa.table(CELLS), path, row_group_size=9),
    "t.feather": lambda path: pa.feather.write_feather(pa.table(CELLS), path),
    "folder": folder,
}
CUT = {"t.csv", "latin.csv", "t.parquet", "folder"}


@pytest.fixture(params=CONTAINERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    CONTAINERS[request.param](tmp_path / request.param)
    return tmp_path / request.param


def of(path: Path) -> TableFormat:
    """Return the format with the encoding of the file, which cp1252 does not tell of itself."""
    encoding = "cp1252" if path.name == "latin.csv" else "utf-8"
    return TableFormat(encoding=encoding, delimiter=";", missing=("?",), columns=FORMAT.columns)


def test_training_reads_what_a_table_is_read_to(path: Path) -> None:
    wanted = pipeline.read_table(path, of(path))
    assert wanted["price"].tolist()[:1] == [1234.5]
    assert wanted["late"].tolist() == [True, False, pd.NA, True] * 20
    X, y = pipeline.read(path, FEATURES, "y", format=of(path))
    pd.testing.assert_frame_equal(X, wanted[FEATURES])
    assert y.tolist() == wanted["y"].tolist()


@pytest.mark.quick(4)
@pytest.mark.parametrize("size", [200, 10**9])
def test_partitions_hold_what_a_table_is_read_to(path: Path, size: int) -> None:
    wanted = pipeline.read_table(path, of(path))
    X, y = pipeline.scan(path, FEATURES, "y", format=of(path), partition_bytes=size)
    assert X.npartitions > 1 or path.name not in CUT or size > 200
    made = X.compute().reset_index(drop=True)
    assert made.dtypes.tolist() == X.dtypes.tolist()
    for name in FEATURES:
        assert made[name].astype(object).where(made[name].notna(), None).tolist() == (
            wanted[name].astype(object).where(wanted[name].notna(), None).tolist()
        ), name
    assert y.tolist() == wanted["y"].tolist()


def test_a_table_that_does_not_fit_in_memory_comes_in_partitions(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = pipeline.preflight(path, ["price", "y"])
    assert found.how == "in memory"
    assert found.need > 0
    monkeypatch.setattr(partitioned, "room", lambda device: 100)
    X, y = pipeline.read(path, ["price"], "y", format=of(path))
    assert X.compute()["price"].tolist()[:1] == [1234.5]
    assert len(y) == 80


@pytest.mark.parametrize("size", [300, 10**9])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.feather"])
def test_a_cell_that_does_not_fit_is_named_with_its_row(
    name: str, size: int, tmp_path: Path
) -> None:
    frame = CELLS.assign(price=["7,00 €"] * 77 + ["oops"] * 3)
    path = tmp_path / name
    {
        "t.csv": lambda: frame.to_csv(path, sep=";", index=False),
        "t.csv.gz": lambda: frame.to_csv(path, sep=";", index=False),
        "t.jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "t.feather": lambda: pa.feather.write_feather(pa.table(frame), path),
    }[name]()
    strict = TableFormat(delimiter=";", columns={"price": Number(decimal=",", unit="€")})
    says = rf"{name}: column 'price' holds 'oops' in row 77"
    with pytest.raises(DataError, match=says):
        pipeline.scan(path, ["price"], "y", format=strict, partition_bytes=size)
    with pytest.raises(DataError, match=says):
        pipeline.read(path, ["price"], "y", format=strict)


def test_conditions_go_with_a_format_of_parquet_alone(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.csv", "t.jsonl"):
        CONTAINERS[name](tmp_path / name)
    rows = [("y", "==", "yes")]
    for read in (pipeline.read, pipeline.scan):
        X, y = read(tmp_path / "t.parquet", ["price"], "y", rows=rows, format=FORMAT)
        X = X if isinstance(X, pd.DataFrame) else X.compute()
        assert (len(X), set(y), X["price"].iloc[0]) == (40, {"yes"}, 1234.5)
        for name in ("t.csv", "t.jsonl"):
            with pytest.raises(ConfigError, match="is for Parquet"):
                read(tmp_path / name, ["price"], "y", rows=rows, format=FORMAT)


FRAMES = {
    "integers": (pa.array([1, 2]), "int64"),
    "integers with gaps": (pa.array([1, None]), "float64"),
    "wide integers with gaps": (pa.array([2**53 + 1, None]), "Int64"),
    "unsigned": (pa.array([2**63, 2**64 - 1], pa.uint64()), "uint64"),
    "unsigned with gaps": (pa.array([2**63 + 1, None], pa.uint64()), "UInt64"),
    "truth with gaps": (pa.array([True, None]), "boolean"),
    "infinite": (pa.array([np.inf, -np.inf]), "float64"),
    "nothing": (pa.nulls(2), "float64"),
    "text": (pa.array(["a", None]), "str"),
    "categories": (pa.array(["a", None]).dictionary_encode(), "category"),
    "days": (pa.array([1, None], pa.int32()).cast(pa.date32()), "datetime64[ms]"),
}


@pytest.mark.parametrize("case", FRAMES)
@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "frame"])
def test_frames_have_the_types_that_steps_take(case: str, name: str, tmp_path: Path) -> None:
    values, dtype = FRAMES[case]
    table, path = pa.table({"a": values}), tmp_path / name
    if name != "frame":
        (pq.write_table if name == "t.parquet" else pa.feather.write_feather)(table, path)
    frame = pipeline.read_table(table if name == "frame" else path)
    if not (case == "nothing" and name == "t.feather"):
        assert str(frame["a"].dtype).replace("[s]", "[ms]") == dtype
    assert frame["a"].isna().tolist() == [each is None for each in values.to_pylist()]
    if "unsigned" in case:
        assert int(frame["a"].iloc[0]) == values[0].as_py()


@pytest.mark.parametrize("written", ["18446744073709551615", "9223372036854775808", "inf", "-inf"])
def test_what_is_large_is_read_the_same_everywhere(written: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a,y\n{written},1\n1,2\n")
    whole = pipeline.read_table(path)["a"].tolist()
    assert whole == [float(written) if "inf" in written else int(written), 1]
    assert pipeline.read(path, ["a"], "y")[0]["a"].tolist() == whole
    assert pipeline.scan(path, ["a"], "y", partition_bytes=1)[0].compute()["a"].tolist() == whole


def test_an_index_without_a_name_is_no_column(tmp_path: Path) -> None:
    frame = CELLS.iloc[::2]
    frame.to_parquet(tmp_path / "t.parquet")
    assert list(pipeline.read_table(tmp_path / "t.parquet")) == list(CELLS)
    assert list(pipeline.read_table(frame)) == list(CELLS)
    frame.set_index("zip").to_parquet(tmp_path / "t.parquet")
    assert set(pipeline.read_table(tmp_path / "t.parquet")) == set(CELLS)


def test_texts_of_json_stay_texts_in_partitions(tmp_path: Path) -> None:
    for number, cell in enumerate(('"007"', "8", "null")):
        (tmp_path / f"{number}.jsonl").write_text(f'{{"a": {cell}, "y": {number}}}\n')
    X, _ = pipeline.scan(tmp_path, ["a"], "y")
    assert X.compute()["a"].tolist()[:2] == ["007", "8"]
    assert csv.ColumnType.seen(pa.array(["007"])).dtype == "str"


def test_nobody_is_told_to_make_the_file_that_is_theirs(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    pq.write_table(pa.table({"a": np.arange(1e4), "y": np.arange(1e4)}), path,
                   write_page_checksum=True)  # fmt: skip
    data = bytearray(path.read_bytes())
    data[len(data) // 4] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="mine.parquet: cannot be read: .*CRC") as caught:
        pipeline.read(path, ["a"], "y")
    assert "`" not in str(caught.value)


def test_damaged_words_of_pandas_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1], "y": [1]}).to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b'{"index_columns"', b'{"index_columns\x01'))
    for read in (pipeline.scan, pipeline.read):
        with pytest.raises(DataError, match="t.parquet: cannot be read"):
            read(path, ["a"], "y")


def test_a_format_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format='csv' is not a TableFormat"):
        pipeline.read_table(tmp_path / "a.csv", cast(Any, "csv"))
