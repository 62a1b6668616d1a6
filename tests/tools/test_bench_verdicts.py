from __future__ import annotations

import pytest

from tests.tools.bench_records import MIB, cell, memory, results
from tools.bench import verdicts


def steady(variant, fit_transform, transform, **changes):
    return cell(variant, [fit_transform] * 5, [transform] * 5, **changes)


REFERENCE = steady("sklearn-str", 8.0, 10.0)
OBJECTS = steady("sklearn-object", 6.0, 12.0)


def found(record, phase, *, other="sklearn-str", variant="ours") -> verdicts.Verdict:
    (verdict,) = [
        v
        for v in verdicts.speeds(record)
        if (v.phase, v.against, v.variant) == (phase, other, variant)
    ]
    return verdict


def test_a_target_is_met_at_its_factor_and_not_below() -> None:
    at = results(REFERENCE, steady("ours", 1.0, 1.0))
    below = results(REFERENCE, steady("ours", 1.01, 1.01))
    for phase in ("fit_transform", "transform"):
        assert found(at, phase).met
        assert not found(below, phase).met


def test_both_of_ours_are_held_to_every_target() -> None:
    record = results(REFERENCE, OBJECTS, steady("ours", 1.0, 1.0), steady("ours-str", 3.0, 1.0))
    assert len(list(verdicts.speeds(record))) == 2 * len(verdicts.SPEED_TARGETS)
    assert found(record, "fit_transform", other="sklearn-object").met
    assert not found(record, "fit_transform", other="sklearn-object", variant="ours-str").met


def test_other_numbers_meet_no_target() -> None:
    for difference in (2e-5, None):
        record = results(REFERENCE, steady("ours", 0.1, 0.1, difference=difference))
        assert not any(v.met for v in verdicts.speeds(record))


def test_what_failed_or_was_not_measured_meets_no_target() -> None:
    for record in (results(REFERENCE), results(REFERENCE, steady("ours", 0.1, 0.1, why="broke"))):
        assert found(record, "transform").found is None
        assert not any(v.met for v in verdicts.speeds(record))


def test_the_median_counts_and_the_warm_up_does_not() -> None:
    record = results(REFERENCE, cell("ours", [1, 1, 1, 50, 1], [1, 1, 1, 1, 1]))
    assert found(record, "fit_transform").found.speed_up == pytest.approx(8)


def test_reading_is_added_to_each_run() -> None:
    ratio = verdicts.against(
        results(REFERENCE, steady("ours", 0.5, 1.0)), "synthetic", "ours", "sklearn-str",
        "read+fit_transform",
    )  # fmt: skip
    assert ratio.speed_up == pytest.approx(9 / 1.5)


@pytest.mark.parametrize(
    ("before", "peak", "wanted"),
    [
        (900, 1_120, 220),  # The table is all that reading left.
        (950, 1_160, 260),  # Reading left 50 more, which may have been used again.
        (880, 1_120, 240),  # Some pages of the table were not resident yet.
    ],
)
def test_memory_that_reading_left_behind_is_no_saving(before, peak, wanted) -> None:
    measured = memory(before=before, peak=peak)
    assert verdicts.taken(measured) == wanted * MIB
    assert verdicts.within(measured) == (wanted <= 225)


def test_a_memory_measurement_that_failed_is_not_within() -> None:
    assert not verdicts.within(memory(why="broke"))
