from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.data import drift
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


def drifts(X: pd.DataFrame, table: pd.DataFrame = TABLE) -> dict[str, drift.Drift]:
    profile = drift.fit_profiles(table)
    return {each.name: each for each in drift.drift(profile, drift.count_rows(X, profile))}


def test_the_same_rows_do_not_drift() -> None:
    for each in drifts(TABLE).values():
        assert (each.psi, each.below, each.above, each.unseen) == (0.0, 0, 0, 0)


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
    found = drifts(X)
    assert (found["real"].below, found["real"].above, found["real"].missing) == (1, 2, 0.25)
    assert (found["int"].below, found["int"].above) == (1, 2)
    assert (found["text"].unseen, sorted(found["text"].examples)) == (2, ["new", "newer"])


def test_a_shift_is_seen_in_the_column_it_is_in() -> None:
    found = drifts(TABLE.assign(real=TABLE["real"] + 2))
    assert next(iter(found)) == "real"
    assert found["real"].psi > 0.25 > 0.1 > found["text"].psi


@pytest.mark.parametrize("size", one_in(3, [300, 7, 1]))
def test_batches_together_count_as_one(size: int) -> None:
    profile = drift.fit_profiles(TABLE.head(100))
    whole = drift.count_rows(TABLE, profile)
    parts = [drift.count_rows(TABLE[i : i + size], profile) for i in range(0, ROWS, size)]
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
    assert drifts(TABLE.assign(**change))[name].psi == 0.0


def test_a_column_without_values_has_no_range() -> None:
    empty = pd.DataFrame({"n": [np.nan, np.nan]})
    assert drift.fit_profiles(empty)["n"].low is None
    assert drifts(pd.DataFrame({"n": [1.0, np.nan]}), empty)["n"].above == 0


def test_too_many_values_are_not_kept() -> None:
    table = pd.DataFrame({"id": [str(i) for i in range(drift.MOST_VALUES + 1)]})
    assert drift.fit_profiles(table)["id"].values is None
    assert drifts(pd.DataFrame({"id": ["x"]}), table)["id"].unseen is None


def test_the_index_is_the_sum_of_its_definition() -> None:
    p, q = (300.5 / 1001, 700.5 / 1001), (500.5 / 1001, 500.5 / 1001)
    wanted = sum((b - a) * math.log(b / a) for a, b in zip(p, q, strict=True))
    assert drift.stability([300, 700], [500, 500]) == pytest.approx(wanted, rel=1e-12)
