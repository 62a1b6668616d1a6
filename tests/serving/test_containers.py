"""Predictions of a file are those of the frame that it holds, whatever the file is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import pipeline
from pipeline import Accelerated, CalendarFeatures, predict_file
from pipeline.files.table_format import Date, Duration, Number, TableFormat, Text, Time
from pipeline.serving.save import About

CHANCE = np.random.default_rng(0)
ROWS = 60
WRITTEN = pd.DataFrame(
    {
        "price": [f"{n:.2f} €".replace(".", ",") for n in CHANCE.uniform(1, 999, ROWS)],
        "share": [f"{n}%" for n in CHANCE.integers(0, 100, ROWS)],
        "sum": [f"{n:,}".replace(",", ".") for n in CHANCE.integers(0, 10**6, ROWS)],
        "day": [f"{d:02}.{m:02}.2024" for d, m in CHANCE.integers(1, 13, (ROWS, 2))],
        "time": [f"{h:02}:{m:02}" for h, m in CHANCE.integers(0, 24, (ROWS, 2))],
        "length": [f"{h}:{m:02}:00" for h, m in CHANCE.integers(0, 24, (ROWS, 2))],
        "code": [f"{n:03}" for n in CHANCE.integers(0, 9, ROWS)],
        "city": [["Köln", "São Paulo", "a;b"][n] for n in CHANCE.integers(0, 3, ROWS)],
    }
)
WRITTEN.loc[7, "price"] = "?"
FORMAT = TableFormat(
    missing=("?",),
    columns={
        "price": Number(decimal=",", unit="€"),
        "share": Number(unit="%"),
        "sum": Number(thousands="."),
        "day": Date(format="%d.%m.%Y"),
        "time": Time(format="%H:%M"),
        "length": Duration(),
        "code": Text(),
    },
)
"""As it reads a file in UTF-8 with semicolons."""
TARGET = np.where(CHANCE.uniform(size=ROWS) < 0.5, "late", "early")
STEPS = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), ["price", "share", "sum", "length"]),
    (CalendarFeatures(["month", "weekday"]), ["day"]),
    (CalendarFeatures(["hour", "minute"]), ["time"]),
    (OneHotEncoder(handle_unknown="ignore"), ["code", "city"]),
)


def as_csv(path: Path) -> None:
    WRITTEN.to_csv(path, sep=";", index=False)


def as_lines(path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in WRITTEN.to_dict("records"))
    path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())


def in_folder(write: Callable[[pd.DataFrame, Path], Any], suffix: str) -> Callable[[Path], None]:
    def write_all(path: Path) -> None:
        path.mkdir()
        for number, start in enumerate(range(0, ROWS, 25)):
            write(WRITTEN[start : start + 25], path / f"part-{number}{suffix}")

    return write_all


FILES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "CSV": ("in.csv", as_csv),
    "gzip": ("in.csv.gz", as_csv),
    "JSON lines": ("in.jsonl", as_lines),
    "Parquet": ("in.parquet", WRITTEN.to_parquet),
    "folder of CSV": ("in", in_folder(lambda t, p: t.to_csv(p, sep=";", index=False), ".csv")),
}


def model_of(format: TableFormat, folder: Path) -> tuple[Path, np.ndarray]:
    """Return a saved model, and what it says of the table that it has learnt from."""
    as_csv(folder / "fit.csv")
    X = pipeline.read_table(folder / "fit.csv", structs.replace(FORMAT, delimiter=";"))
    model = Accelerated(make_pipeline(STEPS, LogisticRegression(max_iter=1000)), device="cpu").fit(
        X, TARGET
    )
    return pipeline.save(model, folder / "model", About(format=format)), model.predict_proba(X)


def check(folder: Path, path: Path, model: Path, wanted: np.ndarray, rows: int) -> None:
    predict_file(model, path, folder / "out.parquet", device="cpu", rows=rows)
    made = pd.read_parquet(folder / "out.parquet")
    names = ["probability_early", "probability_late"]
    np.testing.assert_allclose(made[names], wanted, rtol=1e-12)
    assert made["row"].tolist() == list(range(ROWS))


@pytest.mark.quick(3)
@pytest.mark.parametrize("rows", [23, 1000])
@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_any_kind_is_predicted_as_its_frame(kind: str, rows: int, tmp_path: Path) -> None:
    name, write = FILES[kind]
    model, wanted = model_of(structs.replace(FORMAT, delimiter=";"), tmp_path)
    write(tmp_path / name)
    check(tmp_path, tmp_path / name, model, wanted, rows)
