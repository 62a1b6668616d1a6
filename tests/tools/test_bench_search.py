"""Searches are measured on a few rows, and their record is read rightly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import BaseDistribution
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from datasets import flights
from tests.tools.bench_records import cell, results
from tools.bench import (
    by_hand_search,
    claim,
    plot,
    record,
    report,
    search,
    search_report,
    search_workers,
    tuning,
)
from tools.bench.claim import Ask
from tools.bench.record import Results
from tools.bench.search import Candidate, Rows

SMALL = {"rows": (600,), "held_out": (500,), "trials": (2, 3), "seconds": (4,), "halving": (3,)}


@pytest.fixture(scope="module")
def table(small_home: Path) -> pd.DataFrame:
    return pd.read_parquet(flights.prepare(small_home))


@pytest.fixture(scope="module")
def rows(table: pd.DataFrame) -> Rows:
    return Rows.draw(table, 300, 200, seed=1)


def made(seeds: int = 2, **changed: float) -> Results:
    """Return a record in which `Search` takes 1 of 5 seconds and finds the same."""
    ours, full = (
        {"seconds": seconds, "score": 0.7, "held out": 0.69, "complete": complete}
        for seconds, complete in ((1.0, 10.0), (5.0, 40.0))
    )
    cells = []
    for seed in range(seeds):
        ends = {"at 00": 1.0, "held out 00": 0.6, "at 01": 2.0 + seed, "held out 01": 0.8}
        names = f"trials, seed {seed}", f"seconds, seed {seed}"
        cells += [
            cell("search", {"search": [1.0]}, case=names[0], **of_40({**ours, **changed})),
            cell("full", {"search": [5.0]}, case=names[0], **of_40(full)),
            cell("search", {"search": [4.0]}, case=names[1], trials=9.0, **ends),
        ]
    found = results(*cells)
    for i, each in enumerate(found.cases):
        each.facts["seed"] = i // 2
    found.settings.update(seconds=[4], trials=[40])
    return found


def of_40(values: dict[str, float]) -> dict[str, float]:
    return {search_report.after(name, 40): value for name, value in values.items()}


@pytest.mark.slow
def test_searches_are_measured_beside_each_other(small_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "record"
    claim.publish("search", search.CLAIM, Ask(SMALL, 2, data=small_home), out)
    found = record.load(out / "results.json")
    assert [each.name for each in found.cases] == [
        f"{kind}, seed {seed}" for seed in (0, 1) for kind in ("trials", "seconds")
    ]
    for kind, variants in {"trials": 2, "seconds": 3}.items():
        assert sum(each.case.startswith(kind) and each.ok for each in found.cells) == 2 * variants
    full = found.cell("trials, seed 0", "full").values
    assert [full[f"complete after {count}"] for count in (2, 3)] == [2, 3]
    assert full["seconds after 2"] < full["seconds after 3"]
    for line in search_report.lines(found):
        assert line.seconds[-1] >= 4
        assert (line.low <= line.middle).all()
        assert (line.middle <= line.high).all()
    text = search.CLAIM.part(found)
    assert "| `Search(prune=False)` | " in text
    assert "| `HalvingRandomSearchCV` | " in text
    assert "on 600 flights" in text


def test_the_curves_are_drawn_from_the_record_alone(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in "ab":
        plot.draw_searches(made(3), tmp_path / name)
    drawn = (tmp_path / "a").read_text()
    assert "AUC on held-out rows" in drawn
    assert drawn == (tmp_path / "b").read_text()


def test_rows_that_are_held_out_are_others(table: pd.DataFrame) -> None:
    drawn = Rows.draw(table, 300, 200, seed=1)
    assert (len(drawn.X), len(drawn.X_held_out)) == (300, 200)
    every = pd.concat([drawn.X, drawn.X_held_out]).assign(late=[*drawn.y, *drawn.y_held_out])
    known = table[list(every)]
    assert len(every.merge(known.drop_duplicates())) == 500
    assert every.duplicated().sum() <= known.duplicated().sum()
    again, other = (Rows.draw(table, 300, 200, seed) for seed in (1, 2))
    assert again.X.equals(drawn.X)
    assert not other.X.equals(drawn.X)
    # With fewer rows than are asked for, what is left is held out.
    assert len(Rows.draw(table, 300, 10**9, seed=1).X_held_out) == len(table) - 300


def test_a_candidate_is_judged_by_rows_that_no_search_has_seen(rows: Rows) -> None:
    params = {"xgbclassifier__max_depth": 3}
    model = rows.pipeline.set_params(**params).fit(rows.X, rows.y)
    assert model[-1].get_params()["n_estimators"] == search.TREES
    expected = roc_auc_score(rows.y_held_out, model.predict_proba(rows.X_held_out)[:, 1])
    assert rows.judge(params) == expected


@pytest.mark.slow
def test_the_searches_draw_from_the_same_space(rows: Rows) -> None:
    study = by_hand_search.optuna_by_hand(rows.pipeline, rows.X, rows.y, rows.folds, 0.5, 0)
    by_hand = study.trials[0].distributions
    assert {f"xgbclassifier__{name}": each for name, each in by_hand.items()} == search.SPACE
    halved = by_hand_search.halving(rows.pipeline, rows.X, rows.y, rows.folds, 3, 0)
    for name, each in halved.param_distributions.items():
        low, high = each.support()
        assert (low, high) == pytest.approx(ends(search.SPACE[name])), name


def ends(distribution: BaseDistribution) -> tuple[float, float]:
    return distribution.low, distribution.high


def test_the_best_so_far_are_those_that_were_the_best_when_they_were_judged() -> None:
    scores = {3.0: 0.6, 1.0: 0.5, 2.0: 0.4, 4.0: 0.6, 5.0: 0.9}
    every = [Candidate(at, score, {"a": at}) for at, score in scores.items()]
    assert [each.at for each in search.incumbents(every)] == [1, 3, 5]
    assert [each.at for each in search.incumbents(every, 4.5)] == [1, 3]
    assert search.incumbents(every, 0.5) == []


def test_a_curve_holds_what_was_best_until_then() -> None:
    one = made(1).cells[2]
    found = search_report.curve(one, "held out", np.array([0.0, 1, 1.5, 2, 9]))
    np.testing.assert_array_equal(found, [np.nan, 0.6, 0.6, 0.8, 0.8])


def test_a_line_begins_when_every_seed_has_a_candidate() -> None:
    (line,) = search_report.lines(made(3))
    assert (line.seconds[0], line.seconds[-1]) == (1, 4)
    at = np.searchsorted(line.seconds, [1.5, 2.5, 3.5])
    np.testing.assert_allclose(line.middle[at], [0.6, 0.6, 0.8])
    np.testing.assert_allclose(line.low[at], [0.6, 0.6, 0.6])
    np.testing.assert_allclose(line.high[at], [0.6, 0.8, 0.8])


def test_a_search_without_a_candidate_in_time_has_no_line() -> None:
    found = made(2)
    found.cells[2].values.clear()
    assert list(search_report.lines(found)) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [({}, "| best score | ≥ -0.001, lower end | +0.0000 (+0.0000 to +0.0000) | yes |"),
     ({"score": 0.6980}, "-0.0020 (-0.0020 to -0.0020) | **no** |"),
     ({"score": 0.71}, "+0.0100 (+0.0100 to +0.0100) | yes |")],
)  # fmt: skip
def test_the_targets_of_pruning_are_met_or_not(changed: dict[str, float], said: str) -> None:
    text = search_report.text(made(**changed))
    assert said in text
    assert "| 40 | seconds | 4× | 5.00× | yes |" in text
    assert "| 40 | search | 1.0 | 10 |" in text


def test_the_interval_of_a_mean_is_students() -> None:
    values = [0.1, 0.3, 0.4, 0.9]
    found = search_report.Mean.of(values)
    low, high = student.interval(0.95, 3, np.mean(values), np.std(values, ddof=1) / 2)
    assert found == pytest.approx((np.mean(values), low, high))
    assert search_report.Mean.of([1.0]) == (1.0, -np.inf, np.inf)


@pytest.mark.slow
@pytest.mark.alone
def test_two_workers_are_measured_beside_one(small_home: Path) -> None:
    ask = Ask({"rows": (400,), "trials": (3,)}, 1, data=small_home)
    found = claim.measure("search-workers", search_workers.CLAIM, ask)
    one, two = found.cells
    for each in (one, two):
        assert each.values["trials"] == 3
        assert each.values["busy"] > 0.1, "it is the workers that fit"
    assert one.values["score"] == two.values["score"]
    text = search_workers.CLAIM.part(found)
    assert "on 400 flights" in text
    assert "| 3 trials | best score | two/one | the same | " in text


@pytest.mark.slow
def test_the_memory_of_a_search_is_measured(small_home: Path) -> None:
    settings = {"rows": (400,), "memory_rows": (3_000,), "room_mib": (1,)}
    ask = Ask(settings, 1, data=small_home, cases=["memory"])
    found = claim.measure("tuning", tuning.CLAIM, ask)
    unshared, shared = found.cells
    assert 0 < shared.most("kept") <= 2**20
    for each in (unshared, shared):
        assert each.most("peak") > each.most("start") > 50 * 2**20
    text = tuning.CLAIM.part(found)
    assert "| memory | kept | shared | ≤ the room | " in text


@pytest.mark.parametrize(("kept", "peak", "met"), [(64, 428, "yes"), (65, 429, "**no**")])
def test_what_is_kept_and_the_peak_are_held_to_the_room(kept: int, peak: int, met: str) -> None:
    found = results(
        cell("ours", case="memory", held={"peak": 300}),
        cell("shared", case="memory", held={"peak": peak, "kept": kept}),
        room=64 * 2**20,
    )
    lines = report.verdicts(found, tuning.CLAIM.targets).splitlines()[2:]
    assert [line.split(" | ")[-1] for line in lines] == [f"{met} |"] * 2
