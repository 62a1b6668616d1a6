"""Small raw files in the form of the real ones, with a signal to learn."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from datasets import airline, covertype, fraud, higgs, newsgroups, taxi

ROWS = 600


def covertype_file(folder: Path, draw: np.random.Generator) -> None:
    cover = draw.integers(1, 8, ROWS)
    columns = [draw.integers(1800, 2000, ROWS) + 200 * cover]
    columns += [draw.integers(0, 300, ROWS) for _ in range(9)]
    columns += [draw.integers(0, 2, ROWS) for _ in range(44)]
    lines = pd.DataFrame([*columns, cover]).T.to_csv(header=False, index=False)
    (folder / covertype.RAW.file).write_bytes(gzip.compress(lines.encode()))


def higgs_file(folder: Path, draw: np.random.Generator) -> None:
    signal = draw.integers(0, 2, ROWS)
    values = draw.normal(size=(ROWS, 28)) + signal[:, None] * 0.3
    lines = pd.DataFrame(np.column_stack([signal, values])).to_csv(
        header=False, index=False, float_format="%.18e"
    )
    (folder / higgs.RAW.file).write_bytes(gzip.compress(lines.encode()))


def fraud_file(folder: Path, draw: np.random.Generator) -> None:
    positive = (np.arange(ROWS) % 12 == 0).astype(int)
    values = draw.normal(size=(ROWS, 29)) + positive[:, None]
    names = [*fraud.PARTS, "Amount"]
    header = ["% from a database", "@RELATION creditcard", ""]
    header += [f"@ATTRIBUTE {name} REAL" for name in names]
    header += ["@ATTRIBUTE Class {'0', '1'}", "", "@DATA"]
    rows = [
        ",".join([*(f"{v:.9f}" for v in row), f"'{p}'"])
        for row, p in zip(values, positive, strict=True)
    ]
    (folder / fraud.RAW.file).write_text("\n".join([*header, *rows]) + "\n")


def newsgroups_file(folder: Path, draw: np.random.Generator) -> None:
    words = {"rec.autos": "engine wheel", "sci.med": "doctor café", "talk.religion": "faith temple"}
    common = ["the", "of", "and", "to", "in", "on", "with", "about"]
    with tarfile.open(folder / newsgroups.RAW.file, "w:gz") as archive:
        for part, count in (("train", 60), ("test", 30)):
            for number in range(count):
                group = list(words)[number % 3]
                text = " ".join([*draw.choice(common, 20), words[group]])
                far = "Distribution: World\n" if number % 2 else ""
                message = f"From: a@b\nNewsgroups: {group}\n{far}\n{text}\n> Quoted\n"
                content = message.encode("latin-1")
                info = tarfile.TarInfo(f"20news-bydate-{part}/{group}/{number}")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))


def airline_file(folder: Path, draw: np.random.Generator, first: int = airline.YEAR) -> None:
    for number, remote in enumerate(airline.remotes(first, airline.YEAR)):
        year, month = first + number // 12, number % 12 + 1
        departure = draw.integers(0, 24, 80) * 100 + draw.integers(0, 60, 80)
        delay = departure / 100 + draw.normal(0, 5, 80)
        frame = pd.DataFrame(
            {
                "Year": year, "Month": month, "DayofMonth": draw.integers(1, 29, 80),
                "DayOfWeek": draw.integers(1, 8, 80), "FlightDate": "2019-01-01",
                "Reporting_Airline": draw.choice(["AA", "DL", "9E" if year > 2018 else "TW"], 80),
                "Origin": draw.choice(["JFK", "SFO"], 80), "Dest": draw.choice(["ATL", "ORD"], 80),
                "CRSDepTime": [f"{t:04d}" for t in departure],
                "CRSArrTime": [f"{(t + 130) % 2400:04d}" for t in departure],
                "ArrDelay": np.where(np.arange(80) == 7, np.nan, delay.round()), "Distance": 760.0,
                "Unnamed": "",
            }
        )  # fmt: skip
        text = frame.to_csv(index=False, quoting=2)
        name = f"On_Time_Reporting_Carrier_On_Time_Performance_(1987_present)_{year}_{month}.csv"
        with zipfile.ZipFile(folder / remote.file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("readme.html", "<html></html>")
            archive.writestr(name, text)


def taxi_file(folder: Path, draw: np.random.Generator) -> None:
    for month, remote in zip(taxi.MONTHS, taxi.RAW, strict=True):
        miles = draw.uniform(0.5, 9, 300)
        seconds = draw.integers(0, 27 * 86_400, 300)
        start = np.datetime64(f"2024-{month:02}-01", "us") + seconds.astype("m8[s]")
        start[0] = np.datetime64("2002-12-31T22:00:00", "us")
        miles[1] = 0
        duration = (miles * 240 + draw.normal(0, 60, 300)).clip(70).astype("m8[s]")
        duration[2] = np.timedelta64(23 * 3600, "s")
        table = {
            "VendorID": pa.array([2] * 300, "int32"),
            "tpep_pickup_datetime": start,
            "tpep_dropoff_datetime": start + duration,
            "passenger_count": pa.array([None, *([1] * 299)], "int64"),
            "trip_distance": miles,
            "PULocationID": draw.integers(1, 266, 300).astype("int32"),
            "DOLocationID": draw.integers(1, 266, 300).astype("int32"),
        }
        pq.write_table(pa.table(table), folder / remote.file)


WRITERS: dict[str, Callable[[Path, np.random.Generator], None]] = {
    "airline": airline_file,
    "covertype": covertype_file,
    "fraud": fraud_file,
    "higgs": higgs_file,
    "newsgroups": newsgroups_file,
    "taxi": taxi_file,
}


def write(dataset: str, folder: Path) -> Path:
    """Write the raw files of a dataset that downloads into a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[dataset](folder, np.random.default_rng(0))
    return folder
