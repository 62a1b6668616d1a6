from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from datasets import flights

RAW_ROWS, ROWS = 336_776, 327_346


@pytest.fixture(scope="module")
def table(parquet: Path) -> pd.DataFrame:
    return pd.read_parquet(parquet)


@pytest.fixture(scope="module")
def raw(raw_folder: Path) -> pd.DataFrame:
    """Return the flights that arrived, in the order of the dataset."""
    table = pd.read_csv(raw_folder / "flights.csv.zip", keep_default_na=False, na_values=["NA"])
    assert len(table) == RAW_ROWS
    table = table.assign(row=range(RAW_ROWS))[table["arr_delay"].notna()]
    return table.sort_values(["month", "day", "sched_dep_time"], kind="stable", ignore_index=True)


def test_rows_and_share_of_late_flights(parquet: Path, table: pd.DataFrame) -> None:
    assert len(table) == ROWS
    assert int(table["late"].sum()) == 77_630
    assert sorted(table["late"].unique()) == [0, 1]
    manifest = json.loads(parquet.with_name("manifest.json").read_text())
    assert manifest["rows"] == ROWS
    assert list(manifest["columns"]) == list(table.columns) == list(flights.COLUMNS)
    assert manifest["sources"].keys() == flights.SOURCES.keys()


def test_the_schedule_is_the_raw_files(table: pd.DataFrame, raw: pd.DataFrame) -> None:
    assert np.array_equal(table["late"], raw["arr_delay"] > 15)
    for name in ("month", "day", "distance"):
        assert np.array_equal(table[name], raw[name])
    for name in ("carrier", "origin", "dest", "tailnum"):
        assert (table[name].astype(str) == raw[name]).all(), name
    assert (table["flight"].astype(str) == raw["flight"].astype(str)).all()
    assert np.array_equal(table["sched_dep"], raw["hour"] * 60 + raw["minute"])
    arrival = raw["sched_arr_time"].astype(str).str.zfill(4)
    minutes = arrival.str[:2].astype(int) * 60 + arrival.str[2:].astype(int)
    assert np.array_equal(table["sched_arr"], minutes)
    assert np.array_equal(
        table["weekday"], pd.to_datetime(raw[["year", "month", "day"]]).dt.weekday
    )


def agree(found: pd.Series, expected: pd.Series) -> None:
    """Compare two columns, and see to it that there are both nulls and values to compare."""
    missing = expected.isna().to_numpy()
    assert 0 < missing.mean() < 1
    assert np.array_equal(found.isna().to_numpy(), missing)
    if isinstance(found.dtype, pd.CategoricalDtype):
        assert (found[~missing].astype(str) == expected[~missing]).all()
    else:
        assert np.array_equal(found[~missing], expected[~missing].astype("float32"))


def joined(raw: pd.DataFrame, file: Path, mine: str, theirs: str) -> pd.DataFrame:
    """Return the rows of another file for each flight; of the weather, an hour later."""
    other = pd.read_csv(file, keep_default_na=False, na_values=["NA"])
    other["key"] = other[theirs]
    keys = raw[[mine]].rename(columns={mine: "key"})
    if theirs == "time_hour":
        hours = pd.to_datetime(other["time_hour"]) + pd.Timedelta(hours=1)
        other["key"] = other["origin"] + hours.astype(str)
        keys["key"] = raw["origin"] + pd.to_datetime(raw["time_hour"]).astype(str)
    return keys.merge(other, how="left", on="key", validate="m:1")


WEATHER = "temp dewp humid precip pressure visib wind_dir wind_speed wind_gust"
JOINS = {
    ("weather", "time_hour", "time_hour"): {name: name for name in WEATHER.split()},
    ("planes", "tailnum", "tailnum"): {
        "engine_type": "engine", "plane_type": "type",
        **{name: name for name in ("seats", "engines", "model", "manufacturer")},
    },
    ("airports", "dest", "faa"): {f"dest_{name}": name for name in ("lat", "lon", "alt", "tz")},
}  # fmt: skip


@pytest.mark.parametrize("keys", JOINS, ids=[file for file, *_ in JOINS])
def test_what_is_joined_is_that_of_the_key_and_of_the_hour_before(
    keys: tuple[str, str, str], table: pd.DataFrame, raw: pd.DataFrame, raw_folder: Path
) -> None:
    file, mine, theirs = keys
    merged = joined(raw, raw_folder / f"{file}.csv", mine, theirs)
    assert len(merged) == ROWS
    for name, other in JOINS[keys].items():
        agree(table[name], merged[other])
    if file == "planes":
        agree(table["plane_age"], 2013 - merged["year"])


def test_fold_is_that_of_the_raw_row_and_independent_of_the_target(
    table: pd.DataFrame, raw: pd.DataFrame
) -> None:
    from datasets._tables import fold

    assert np.array_equal(table["fold"], fold(raw["row"].to_numpy()))
    train = table["fold"] < 75
    assert abs(table["late"][train].mean() - table["late"][~train].mean()) < 0.006
