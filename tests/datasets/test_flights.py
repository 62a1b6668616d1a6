from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from datasets import flights

RAW_ROWS, ROWS = 336_776, 327_346
KNOWN_ONLY_AFTERWARDS = {"dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"}
WEATHER = ["temp", "dewp", "humid", "precip", "pressure", "visib"]
WEATHER += ["wind_dir", "wind_speed", "wind_gust"]


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


def test_late_is_more_than_fifteen_minutes(table: pd.DataFrame, raw: pd.DataFrame) -> None:
    assert np.array_equal(table["late"], raw["arr_delay"] > 15)


def test_the_schedule_is_the_raw_files(table: pd.DataFrame, raw: pd.DataFrame) -> None:
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


def test_weather_is_that_of_the_hour_before(
    table: pd.DataFrame, raw: pd.DataFrame, raw_folder: Path
) -> None:
    weather = pd.read_csv(raw_folder / "weather.csv", keep_default_na=False, na_values=["NA"])
    weather["time_hour"] = pd.to_datetime(weather["time_hour"]) + pd.Timedelta(hours=1)
    keys = raw[["origin", "time_hour"]].assign(time_hour=pd.to_datetime(raw["time_hour"]))
    merged = keys.merge(weather, how="left", on=["origin", "time_hour"], validate="m:1")
    assert len(merged) == ROWS
    for name in WEATHER:
        agree(table[name], merged[name])


def test_aircraft_are_those_of_the_tail_number(
    table: pd.DataFrame, raw: pd.DataFrame, raw_folder: Path
) -> None:
    planes = pd.read_csv(raw_folder / "planes.csv", keep_default_na=False, na_values=["NA"])
    merged = raw[["tailnum"]].merge(planes, how="left", on="tailnum", validate="m:1")
    agree(table["plane_age"], 2013 - merged["year"])
    for ours, theirs in {"engine_type": "engine", "plane_type": "type"}.items():
        agree(table[ours], merged[theirs])
    for name in ("seats", "engines", "model", "manufacturer"):
        agree(table[name], merged[name])


def test_destinations_are_those_of_the_airports(
    table: pd.DataFrame, raw: pd.DataFrame, raw_folder: Path
) -> None:
    airports = pd.read_csv(raw_folder / "airports.csv", keep_default_na=False, na_values=["NA"])
    merged = raw.merge(airports, how="left", left_on="dest", right_on="faa", validate="m:1")
    for name in ("lat", "lon", "alt", "tz"):
        agree(table[f"dest_{name}"], merged[name])
    assert set(table["dest"][table["dest_lat"].isna()]) == {"BQN", "PSE", "SJU", "STT"}


def test_nothing_known_only_afterwards_is_there_by_name(table: pd.DataFrame) -> None:
    assert not KNOWN_ONLY_AFTERWARDS & set(table.columns)
    assert not [name for name in table.columns if re.search("delay|actual|air_time", name)]


def auc(score: pd.Series, late: pd.Series) -> float:
    """Return the area under the ROC curve, in whichever direction it is above one half."""
    ranks, positive = score.rank(), late == 1
    pairs = positive.sum() * (~positive).sum()
    below = ranks[positive].sum() - positive.sum() * (positive.sum() + 1) / 2
    return max(below / pairs, 1 - below / pairs)


def alone(column: pd.Series, late: pd.Series, fold: pd.Series) -> float:
    """Return the best AUC of a column by itself: as it is, its gaps, its levels' shares."""
    learn = fold < 50
    levels = pd.Series(pd.factorize(column)[0], index=column.index)
    shares = late[learn].groupby(levels[learn]).mean()
    coded = levels.map(shares).fillna(late[learn].mean())
    scores = [auc(coded[~learn], late[~learn]), auc(column.isna(), late)]
    if not isinstance(column.dtype, pd.CategoricalDtype):
        scores.append(auc(column.fillna(column.median()), late))
    return max(scores)


@pytest.mark.slow
def test_no_column_gives_the_answer_away(table: pd.DataFrame, raw: pd.DataFrame) -> None:
    late, fold = table["late"], table["fold"]
    told = alone(raw["dep_delay"], late, fold)
    assert told > 0.85, "the check sees a column that does give it away"
    found = {n: alone(table[n], late, fold) for n in table.columns.drop("late")}
    assert {name: score for name, score in found.items() if score > 0.75} == {}
    assert max(found.values()) > 0.6, "and there is something to learn"


@pytest.mark.parametrize("months", [range(1, 13), range(10, 13)])
def test_categories_are_sorted_and_the_same_in_every_part(
    parquet: Path, table: pd.DataFrame, months: range
) -> None:
    part = pd.read_parquet(parquet, filters=[("month", "in", list(months))])
    assert set(part["month"]) == set(months)
    for name in flights.CATEGORICAL:
        levels = part[name].cat.categories
        assert list(levels) == sorted(levels)
        assert list(levels) == sorted(table[name].dropna().unique())


def test_low_cardinality_is_low_and_high_is_high(table: pd.DataFrame) -> None:
    assert max(table[name].nunique() for name in flights.LOW_CARDINALITY) <= 16
    assert min(table[name].nunique() for name in flights.HIGH_CARDINALITY) > 30


def test_integers_have_no_gaps_and_no_number_is_constant(table: pd.DataFrame) -> None:
    for name in flights.NUMERIC:
        assert table[name].nunique() > 1, name
        assert np.isfinite(table[name].dropna()).all(), name
    whole = table.select_dtypes("integer")
    assert set(whole.columns) >= {"day", "weekday", "sched_dep", "sched_arr", "distance"}


def test_a_row_group_is_a_month_in_order_of_departure(parquet: Path, table: pd.DataFrame) -> None:
    file = pq.ParquetFile(parquet)
    groups = [file.metadata.row_group(i).column(0).statistics for i in range(file.num_row_groups)]
    assert [(group.min, group.max) for group in groups] == [(m, m) for m in range(1, 13)]
    moment = table["month"] * 1e6 + table["day"] * 1e4 + table["sched_dep"]
    assert moment.is_monotonic_increasing


def test_both_splits_are_disjoint_and_exhaustive(parquet: Path, table: pd.DataFrame) -> None:
    for column, edge, share in (("month", 9, 0.7476), ("fold", 74, 0.75)):
        train = pq.read_table(parquet, columns=[column], filters=[(column, "<=", edge)])
        test = pq.read_table(parquet, columns=[column], filters=[(column, ">", edge)])
        assert len(train) + len(test) == ROWS
        assert len(train) / ROWS == pytest.approx(share, abs=0.005)
        assert max(train[column].to_pylist()) == edge < min(test[column].to_pylist())


def test_fold_is_that_of_the_raw_row_and_independent_of_the_target(
    table: pd.DataFrame, raw: pd.DataFrame
) -> None:
    from datasets._tables import fold

    assert np.array_equal(table["fold"], fold(raw["row"].to_numpy()))
    train = table["fold"] < 75
    assert abs(table["late"][train].mean() - table["late"][~train].mean()) < 0.006
