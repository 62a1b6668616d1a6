from __future__ import annotations

import math
import statistics
from pathlib import Path

import msgspec
import pytest
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

from pipeline.backends.array_api import ESTIMATORS
from pipeline.backends.cuml.tables import CUML, XGBOOST
from pipeline.backends.cuml.text import CUML as VECTORIZERS
from pipeline.errors import DataError
from pipeline.planning import choose
from pipeline.planning.choose import Measured, Memory, Point, break_even, fitted
from tools.calibrate.families import TRIALS


def measured(*times: tuple[int, float]) -> Measured:
    points = [Point(rows=rows, columns=8, seconds=seconds) for rows, seconds in times]
    return Measured(machine="a machine", date="2026-11-21", points=points)


def test_every_rule_is_in_one_family_and_no_family_has_others() -> None:
    vectorizers = {f"sklearn.feature_extraction.text.{kind.__name__}" for kind in VECTORIZERS}
    boosters = {f"xgboost.sklearn.{name}" for name in XGBOOST}
    listed = [name for family in choose.cost_model().families for name in family.estimators]
    assert sorted(listed) == sorted({*CUML, *ESTIMATORS, *vectorizers, *boosters})


def test_every_family_can_be_timed() -> None:
    assert [family.name for family in choose.cost_model().families] == list(TRIALS)


@pytest.mark.parametrize("family", choose.cost_model().families, ids=lambda family: family.name)
def test_no_figure_is_without_its_source(family: choose.Family) -> None:
    assert "cores" in family.cpu.machine
    assert family.assumed.why.startswith("assumed")
    if family.gpu is None:
        assert family.worth == family.assumed.cpu_seconds
        assert family.worth_source == "assumed"


@pytest.mark.parametrize("family", choose.cost_model().families, ids=lambda family: family.name)
def test_the_law_is_near_the_longest_times(family: choose.Family) -> None:
    """A job of a second must not be taken for one of ten, nor for one of a tenth."""
    longest = sorted(family.cpu.points, key=lambda point: -point.seconds)[:5]
    near = [family.law.seconds(p.rows, p.columns) / p.seconds for p in longest]
    assert 1 / 2 < statistics.median(near) < 2
    assert sum(1 / 3 < each < 3 for each in near) >= len(near) - 1


def test_one_disturbed_run_does_not_bend_a_law() -> None:
    times = {(n, p): 1e-5 * n * p for n in (1000, 4000, 16_000, 64_000) for p in (8, 64)}
    times[1000, 64] *= 12
    points = [Point(rows=n, columns=p, seconds=seconds) for (n, p), seconds in times.items()]
    assert fitted(points).seconds(10_000, 10) == pytest.approx(1.0, rel=0.2)


def test_a_law_is_found_again_through_noise_and_the_start_of_each_run() -> None:
    points = [
        Point(rows=rows, columns=columns, seconds=0.01 + 1e-7 * rows * columns**1.5)
        for rows in (10**3, 10**4, 10**5, 10**6)
        for columns in (8, 64)
    ]
    assert fitted(points).seconds(10**6, 32) == pytest.approx(1e-7 * 10**6 * 32**1.5, rel=0.3)


def test_a_law_never_falls_with_the_size() -> None:
    points = [Point(rows=n, columns=p, seconds=1 / (n * p)) for n in (10, 100) for p in (1, 8)]
    law = fitted(points)
    assert (law.by_rows, law.by_columns) == (0, 0)


@pytest.mark.parametrize(
    ("on_gpu", "worth"),
    [
        ([(10, 0.5), (100, 0.5), (1000, 0.5)], 1.0),
        ([(10, 0.01), (100, 2.0), (1000, 0.5)], 10.0),
        ([(10, 0.01), (100, 0.01), (1000, 0.5)], 0.1),
        ([(10, 0.5), (100, 0.5), (1000, 11)], math.inf),
    ],
)
def test_the_break_even_is_where_the_gpu_begins_to_win_for_good(on_gpu, worth) -> None:
    cpu = measured((10, 0.1), (100, 1.0), (1000, 10.0))
    assert break_even(cpu, measured(*on_gpu)) == worth


def test_measured_times_take_the_place_of_what_was_assumed() -> None:
    family = msgspec.structs.replace(
        choose.cost_model().families[0],
        cpu=measured((10, 0.1), (100, 1.0), (1000, 10.0)),
        gpu=measured((10, 0.5), (100, 0.5), (1000, 0.5)),
    )
    assert family.worth == 1.0
    assert family.worth_source == "measured on a machine, 2026-11-21"


def test_more_trees_take_longer_in_proportion() -> None:
    known = choose.cost_model()
    forest = known.family("forest")
    boosting = known.family("xgboost.sklearn.XGBClassifier")
    assert forest is not None
    assert boosting is not None
    assert forest.factor(RandomForestClassifier(n_estimators=500)) == 5
    assert boosting.factor(XGBClassifier()) == 1
    assert known.family("sklearn.ensemble.ExtraTreesClassifier") is None


def test_memory_is_counted_in_matrices_of_float32() -> None:
    assert Memory(copies=3, pairs=0).bytes(1000, 10) == 3 * 1000 * 10 * 4
    assert Memory(copies=0, pairs=2).bytes(1000, 10) == 2 * 1000 * 1000 * 4


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"cpu_seconds": 1.0', b'"cpu_seconds": 0', "Expected `float` > 0"),
        (b'"machine"', b'"maschine"', "unknown field `maschine`"),
        (b"thresholds/1", b"thresholds/2", "Invalid enum value"),
        (b"{", b"", "not a pipeline.thresholds/1 file"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, old, new, why) -> None:
    text = choose.PATH.read_bytes()
    assert old in text
    path = tmp_path / "thresholds.json"
    path.write_bytes(text.replace(old, new))
    with pytest.raises(DataError, match=why):
        choose.load(path)


def test_a_missing_file_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="make calibrate"):
        choose.load(tmp_path / "none.json")
