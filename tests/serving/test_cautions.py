"""What is said of rows that are not like those of the fit."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import pipeline
from pipeline import Accelerated, CalendarFeatures
from tests.commands import call

CHANCE = np.random.default_rng(0)
ROWS = 200
TABLE = pd.DataFrame(
    {
        "mass": CHANCE.uniform(2700, 6300, ROWS),
        "island": CHANCE.choice(["Dream", "Biscoe"], ROWS),
        "name": [f"name {i}" for i in range(ROWS)],
        "day": pd.date_range("2024-01-01", periods=ROWS),
    }
)
NEW = TABLE.assign(name=[f"new {i}" for i in range(ROWS)], day=TABLE["day"] + pd.Timedelta("400D"))
STEPS = make_column_transformer(
    (SimpleImputer(), ["mass"]),
    (OneHotEncoder(handle_unknown="ignore"), ["island", "name"]),
    (CalendarFeatures(["month"]), ["day"]),
)
CASES: dict[str, tuple[pd.DataFrame, list[str]]] = {
    "the same rows": (TABLE, []),
    "later days and other names": (NEW, []),
    "another unit": (
        NEW.assign(mass=NEW["mass"] / 1000),
        [r"'mass': 200 of 200 rows are outside the range of .*, 2,7.* to 6,.*; check the unit"],
    ),
    "another language": (
        NEW.assign(island=["Traum"] * 50 + ["Dream"] * 150),
        [r"'island': 50 of 200 rows hold values that no training row had, such as 'Traum'; check"],
    ),
    "a failed join": (
        NEW.assign(mass=NEW["mass"].where(NEW.index < 100)),
        ["'mass': 50% of the rows have no value, compared with 0% of the training rows; check"],
    ),
    "a few": (NEW.assign(island=["Traum"] * 5 + ["Dream"] * 195), []),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("case", CASES)
def test_rows_unlike_those_of_the_fit_are_told(case: str, tmp_path: Path) -> None:
    table, says = CASES[case]
    model = Accelerated(make_pipeline(STEPS, Ridge()), device="cpu", profile=True)
    folder = pipeline.save(model.fit(TABLE, TABLE["mass"]), tmp_path / "m")
    table.to_parquet(tmp_path / "in.parquet")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        record = pipeline.predict_file(folder, tmp_path / "in.parquet", tmp_path / "out.csv")
    assert len(record.cautions) == len(told) == len(says)
    for said, warned, words in zip(record.cautions, told, says, strict=True):
        assert pd.Series([said]).str.match(words).all(), said
        assert said in str(warned.message)
    kept = json.loads((tmp_path / "out.csv.record.json").read_text())
    assert kept["cautions"] == record.cautions
    done = call("predict", folder, tmp_path / "in.parquet", tmp_path / "again.csv")
    assert [line for line in done.out.splitlines() if line.startswith("caution: ")] == [
        f"caution: {each}" for each in record.cautions
    ]
