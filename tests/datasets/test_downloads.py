"""The datasets that download: from small files in the real form to the table."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import datasets
from datasets import _store, airline
from datasets.errors import DataError
from tests.datasets import raw

FIXED = [name for name in datasets.names() if name != "synthetic"]
NAMES = [name for name in FIXED if import_module(f"datasets.{name}").CARD.remotes]


def make(name: str, home: Path) -> Path:
    """Make a dataset of small files, whose checksums are other than the pinned ones."""
    module = import_module(f"datasets.{name}")
    remotes = [replace(remote, sha256="") for remote in module.CARD.remotes]
    card = replace(module.CARD, remotes=remotes)
    return _store.prepare(card, module.build, home, raw.write(name, home / "given"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: make(name, tmp_path_factory.mktemp(name)) for name in NAMES}


def test_every_dataset_that_downloads_is_tried() -> None:
    assert sorted(raw.WRITERS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_the_declared_columns(name: str, made: dict[str, Path]) -> None:
    module, schema = import_module(f"datasets.{name}"), pq.read_schema(made[name])
    assert schema.names == list(module.COLUMNS)
    for column, declared in module.COLUMNS.items():
        kind = str(schema.field(column).type)
        assert (
            kind.startswith("dictionary")
            if declared.type == "category"
            else (kind == {"float32": "float"}.get(declared.type, declared.type))
        )


def test_kinds_of_forest_count_from_0(made: dict[str, Path]) -> None:
    table = pd.read_parquet(made["covertype"])
    assert sorted(table["cover"].unique()) == list(range(7))
    assert len(table) == raw.ROWS
    assert table["soil_39"].isin([0, 1]).all()


def test_fraud_is_read_without_its_quotes(made: dict[str, Path]) -> None:
    assert pd.read_parquet(made["fraud"])["is_fraud"].sum() == raw.ROWS / 12


def test_messages_have_no_headers_and_keep_their_letters(made: dict[str, Path]) -> None:
    table = pd.read_parquet(made["newsgroups"])
    assert table["later"].sum() == 30
    assert not table["text"].str.contains("Newsgroups").any()
    assert table["text"].str.contains("café").sum() == 30
    assert (table["group"][table["text"].str.contains("wheel")] == 0).all()


def test_flights_that_did_not_arrive_are_left_out(made: dict[str, Path]) -> None:
    table = pd.read_parquet(made["airline"])
    assert len(table) == 12 * 79
    assert table["month"].unique().tolist() == list(range(1, 13))
    assert table["sched_dep"].between(0, 24 * 60 - 1).all()
    assert set(table["carrier"].cat.categories) == {"9E", "AA", "DL"}


def test_more_years_are_a_dataset_of_their_own_of_the_same_raw_files(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    raw.airline_file(given, np.random.default_rng(0), first=2017)
    path = airline.prepare(tmp_path, given, years="2017-2019")
    assert path == tmp_path / "airline_2017_2019" / "airline_2017_2019.parquet"
    table = pd.read_parquet(path)
    assert len(table) == 3 * 12 * 79
    assert table["year"].unique().tolist() == [2017, 2018, 2019]
    assert list(table["carrier"].cat.categories) == ["9E", "AA", "DL", "TW"]
    assert set(table["carrier"][table["year"] == 2017]) == {"AA", "DL", "TW"}
    later = (table["year"] == 2019) & (table["month"] > 9)
    assert table["later"].tolist() == later.astype(int).tolist()
    manifest = json.loads(path.with_name("manifest.json").read_text())
    assert len(manifest["received"]) == 36, "the manifest says what the table is made of"
    one = airline.prepare(tmp_path, given)
    assert pd.read_parquet(one)["year"].unique().tolist() == [2019]


@pytest.mark.parametrize("years", ["", "19", "1987", "2019-2017", "2017,2019", "2017-"])
def test_years_that_are_none_are_named(years: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="years: '.*' is not a year or a range from 1988 on"):
        airline.prepare(tmp_path, years=years)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_cut_off_is_named(name: str, tmp_path: Path) -> None:
    module = import_module(f"datasets.{name}")
    folder = raw.write(name, tmp_path / "given")
    files = {remote.file: folder / remote.file for remote in module.CARD.remotes}
    last = list(files.values())[-1]
    last.write_bytes(last.read_bytes()[: last.stat().st_size // 2])
    with pytest.raises(DataError, match=last.name):
        list(module.build(files))
