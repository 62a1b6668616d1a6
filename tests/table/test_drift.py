from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.table import drift
from tests.names import one_in

RANDOM = np.random.default_rng(0)
ROWS = 1_000
TABLE = pd.DataFrame(
    {
        "real": RANDOM.normal(size=ROWS),
        "int": RANDOM.integers(0, 5, ROWS),
        "flag": RANDOM.random(ROWS) < 0.5,
        "text": RANDOM.choice(list("abc"), ROWS),
        "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(RANDOM.integers(0, 99, ROWS), "D"),
        "gap": pd.to_timedelta(RANDOM.integers(0, 99, ROWS), "h"),
    }
)


def differences(X: pd.DataFrame, table: pd.DataFrame = TABLE) -> dict[str, drift.Difference]:
    return drift.compare(X, drift.fit_profiles(table))


def test_the_same_rows_do_not_differ() -> None:
    profile = drift.fit_profiles(TABLE)
    found = drift.compare(TABLE, profile)
    for each in found.values():
        assert (each.rows, each.without, each.below, each.above) == (ROWS, 0, 0, 0)
        assert each.unseen in (0, None)
    assert drift.cautions(found, profile) == []


def test_ranges_and_missing_rates_are_learnt() -> None:
    table = TABLE.drop(columns="flag")
    learnt = drift.fit_profiles(table.mask(np.tile(np.arange(ROWS) < 250, (5, 1)).T))
    assert {name: each.missing for name, each in learnt.items()} == dict.fromkeys(table, 0.25)
    assert (learnt["int"].low, learnt["int"].high) == (0.0, 4.0)
    assert learnt["text"].values == ["a", "b", "c"]
    assert learnt["when"].low == TABLE["when"][250:].min().value


def test_what_was_not_there_at_fit_is_counted() -> None:
    X = TABLE.head(4).assign(
        real=[-99.0, 99.0, np.inf, np.nan], text=["a", "new", "newer", None], int=[0, 5, 9, -1]
    )
    found = differences(X)
    assert (found["real"].below, found["real"].above, found["real"].without) == (1, 2, 1)
    assert (found["int"].below, found["int"].above) == (1, 2)
    assert (found["text"].unseen, sorted(found["text"].examples)) == (2, ["new", "newer"])


@pytest.mark.parametrize("size", one_in(3, [300, 7, 1]))
def test_batches_together_count_as_one(size: int) -> None:
    profile = drift.fit_profiles(TABLE.head(100))
    whole = drift.compare(TABLE, profile)
    parts = [drift.compare(TABLE[i : i + size], profile) for i in range(0, ROWS, size)]
    total, *rest = parts
    for part in rest:
        for name, counted in part.items():
            total[name].add(counted)
    assert total == whole


@pytest.mark.parametrize(
    "change",
    [
        {"int": TABLE["int"].astype("Int64")},
        {"int": TABLE["int"].astype("category")},
        {"text": TABLE["text"].astype("category")},
        {"flag": TABLE["flag"].astype("boolean")},
        {"when": TABLE["when"].dt.tz_localize("UTC")},
        {"when": TABLE["when"].astype("datetime64[s]")},
    ],
    ids=str,
)
def test_other_types_of_the_same_values_are_the_same(change: dict[str, Any]) -> None:
    (name,) = change
    assert differences(TABLE.assign(**change))[name] == differences(TABLE)[name]


def test_a_column_without_values_has_no_range() -> None:
    empty = pd.DataFrame({"n": [np.nan, np.nan]})
    assert drift.fit_profiles(empty)["n"].low is None
    assert differences(pd.DataFrame({"n": [1.0, np.nan]}), empty)["n"].above == 0


def test_too_many_values_are_not_kept() -> None:
    table = pd.DataFrame({"id": [str(i) for i in range(drift.MOST_VALUES + 1)]})
    assert drift.fit_profiles(table)["id"].values is None
    assert differences(pd.DataFrame({"id": ["x"]}), table)["id"].unseen is None
