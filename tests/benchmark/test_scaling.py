from __future__ import annotations

import numpy as np
import pytest

from pipeline.benchmark.judge.scaling import BreakEven, Curve, break_even, curve, model, overtaking
from tests.benchmark import fixtures, fuller

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)


def drawn(a: float, b: float, *, noise: float = 0.0, seed: int = 0) -> Curve:
    random = np.random.default_rng(seed)
    runs = tuple(
        tuple((a + b * n) * np.exp(random.normal(0, noise, 5)) if noise else [a + b * n] * 5)
        for n in ROWS
    )
    return Curve(ROWS, runs)


def test_a_line_is_found_again() -> None:
    found = model(drawn(0.5, 2e-5))
    assert (found.a, found.b) == pytest.approx((0.5, 2e-5))
    assert found.miss < 1e-9
    assert found(1_000_000) == pytest.approx(20.5)


def test_a_small_size_counts_as_much_as_a_large_one() -> None:
    bent = Curve((1_000, 10_000, 1_000_000), ((0.1,) * 5, (0.3,) * 5, (10.0,) * 5))
    assert model(bent).a == pytest.approx(0.1, abs=0.03)


def test_with_two_sizes_there_is_no_line() -> None:
    whole = drawn(0.1, 1e-6)
    assert model(Curve(whole.rows[:3], whole.runs[:3])).b == pytest.approx(1e-6)
    assert model(Curve(whole.rows[:2], whole.runs[:2])) is None
    assert break_even(whole, Curve(ROWS[:2], whole.runs[:2])).why == "fewer than 3 sizes"


def test_times_that_do_not_grow_have_no_negative_price() -> None:
    falling = Curve(ROWS, tuple((6.0 - i,) * 5 for i in range(6)))
    found = model(falling)
    assert found.b == 0.0
    assert found.a > 0


def test_the_break_even_is_where_the_curves_cross() -> None:
    found = break_even(drawn(1.0, 1e-5), drawn(0.2, 2e-5))
    assert found.rows == pytest.approx(80_000, rel=1e-3)
    assert found.faster_above
    swapped = break_even(drawn(0.2, 2e-5), drawn(1.0, 1e-5))
    assert swapped.rows == pytest.approx(80_000, rel=1e-3)
    assert not swapped.faster_above


def test_its_interval_holds_the_truth_and_is_no_wider_than_the_noise() -> None:
    found = [
        break_even(
            drawn(1.0, 1e-5, noise=0.03, seed=seed), drawn(0.2, 2e-5, noise=0.03, seed=seed + 1000)
        )
        for seed in range(60)
    ]
    held = [each.interval[0] <= 80_000 <= each.interval[1] for each in found]
    assert np.mean(held) >= 0.85
    assert np.median([each.interval[1] / each.interval[0] for each in found]) < 1.5


def test_curves_that_do_not_cross_have_no_break_even() -> None:
    why = "none in the range measured: faster throughout"
    assert break_even(drawn(0.1, 1e-5), drawn(0.2, 2e-5)) == BreakEven(None, None, False, why)
    assert break_even(drawn(0.2, 2e-5), drawn(0.1, 1e-5)).why.endswith("slower throughout")


def test_equal_speed_seldom_shows_a_break_even() -> None:
    shown = [
        break_even(
            drawn(0.2, 2e-5, noise=0.05, seed=seed), drawn(0.2, 2e-5, noise=0.05, seed=seed + 500)
        ).rows
        is not None
        for seed in range(100)
    ]
    assert np.mean(shown) <= 0.1


def test_models_that_miss_the_times_show_none() -> None:
    jagged = Curve(ROWS, tuple((t,) * 5 for t in (1.0, 0.1, 2.0, 0.1, 5.0, 0.2)))
    assert break_even(jagged, drawn(0.2, 2e-5)).why == "the models do not fit the times"


def test_the_curve_holds_all_sizes_and_the_whole_table() -> None:
    results = fuller.with_sizes()
    found = curve(results, "forest", "cpu")
    assert found.rows == (5_200, 26_000, 104_000, 260_000)
    assert [len(times) for times in found.runs] == [5, 5, 5, 7]
    assert overtaking(results, "forest", "reference") is None
    assert overtaking(results, "forest", "cpu").why.endswith("faster throughout")
    on_gpu = overtaking(fuller.with_sizes(fixtures.with_gpu()), "forest", "cuda")
    assert on_gpu.faster_above
    low, high = on_gpu.interval
    assert low < 19_900 < high, "1.6 s + 0.31 s a million rows against 80.8 s a million"


def test_without_a_sweep_there_is_no_curve() -> None:
    assert curve(fixtures.normal(), "forest", "cpu") is None
