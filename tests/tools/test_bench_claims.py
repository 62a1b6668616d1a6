"""The smaller claims run on a few rows, and what is kept of them holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tools.bench_records import cell, results
from tools.bench import claim, prediction, report, tuning, wrapper
from tools.bench.claim import Ask


@pytest.mark.slow
def test_the_wrapper_is_measured_beside_the_bare_estimator() -> None:
    found = claim.measure("wrapper", wrapper.CLAIM, Ask({"rows": (300,), "single": (5,)}, 3))
    assert [(each.case, each.variant) for each in found.cells] == [
        (name, way) for name in wrapper.ESTIMATORS for way in wrapper.WAYS
    ]
    for each in found.cells:
        assert all(each.times(t.phase).min() > 0 for t in wrapper.CLAIM.targets)
    assert "300 × 30 float32" in wrapper.CLAIM.part(found)


@pytest.mark.slow
def test_searches_are_measured_and_find_the_same(small_home: Path) -> None:
    ask = Ask({"rows": (400,)}, 1, data=small_home, cases=["logistic"])
    found = claim.measure("tuning", tuning.CLAIM, ask)
    assert [each.variant for each in found.cells] == [each.name for each in tuning.CLAIM.variants]
    text = tuning.CLAIM.part(found)
    assert "on 400 flights" in text
    assert "| logistic | scores | shared/ours | ≤ 1e-07 | 0.0e+00 | yes |" in text
    wanted = "shared-float64/plain | ≤ 1e-09 and the same ranks | 0.0e+00 | yes |"
    assert f"| logistic | scores | {wanted}" in text
    kept = found.cell("logistic", "shared").values
    assert 0 < kept["kept bytes"] < kept["room bytes"]


@pytest.mark.parametrize(
    ("scores", "said"),
    [((0.5, 0.6), "0.0e+00 | yes"), ((0.6, 0.5), "1.0e-01, other ranks | **no**"),
     ((0.5, 0.6000000005), "5.0e-10 | yes"), ((0.5, 0.61), "1.0e-02 | **no**")],
)  # fmt: skip
def test_scores_and_ranks_of_a_search_are_held_to_those_of_scikit_learn(scores, said: str) -> None:
    variants = {"plain": (0.5, 0.6), "shared-float64": scores}
    made = results(*(
        cell(name, {"search": [1.0] * 3}, case="logistic", **{"score 00": a, "score 01": b})
        for name, (a, b) in variants.items()
    ))  # fmt: skip
    assert said in report.verdicts(made, tuning.CLAIM.targets[-1:])


def test_both_ways_predict_alike() -> None:
    X, y = wrapper.table(500, seed=0)
    for estimator in wrapper.ESTIMATORS.values():
        bare, wrapped = (make(estimator).fit(X, y).predict(X) for make in wrapper.WAYS.values())
        np.testing.assert_array_equal(bare, wrapped)
        assert (bare == y).mean() > 0.7


@pytest.mark.slow
def test_predictions_are_measured(tmp_path: Path) -> None:
    settings = {"rows": (2_000,), "calls": (2,), "trained": (1_000,)}
    found = claim.measure("prediction", prediction.CLAIM, Ask(settings, 1, home=tmp_path))
    assert {each.name for each in found.cases} == set(prediction.CLAIM.names)
    assert found.cell("XGBClassifier", "loaded").runs[0].calls == 2
    assert found.case("file").facts["columns"] == 30
    file = found.cell("file", "loaded")
    assert (len(file.runs), file.warmup, file.most("peak") > 50 * 2**20) == (1, None, True)
    text = prediction.CLAIM.part(found)
    assert "| file | 2,000 × 30 (0.00 GB) | loaded |" in text
    assert text.count(" yes |") + text.count(" **no** |") == 5


def test_times_of_calls_are_the_middle_and_the_slow_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 100.0])
    monkeypatch.setattr(prediction.time, "perf_counter", lambda: next(clock))
    run = prediction.timed(lambda: None, 4).run
    assert (run.calls, run.seconds["predict"]) == (4, 2.5)
    assert run.seconds["p95"] > 50


@pytest.mark.parametrize(("loaded", "peak", "met"), [(1.1, 2_048, "yes"), (1.2, 2_049, "**no**")])
def test_a_target_of_predictions_is_met_or_not(loaded: float, peak: int, met: str) -> None:
    made = results(
        cell("loaded", {"predict": [loaded] * 3}, case="matrix"),
        cell("bare", {"predict": [1.0] * 3}, case="matrix"),
        cell("loaded", {"predict": [1.0]}, case="file", held={"peak": peak}),
    )
    lines = report.verdicts(made, prediction.CLAIM.targets).splitlines()[2:]
    assert [line.split(" | ")[-1] for line in lines] == [f"{met} |"] * 2
