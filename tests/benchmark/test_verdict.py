"""The sentences of a comparison: what is claimed, and what is not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pipeline.benchmark.judge import doubts
from pipeline.benchmark.judge.statistics import speed
from pipeline.benchmark.judge.verdict import Headline, verdict
from pipeline.benchmark.record.results import Results
from pipeline.task.scoring import ScoringInfo
from tests.benchmark import fixtures


def headline(results: Results, pipeline: str, variant: str) -> Headline:
    lines = verdict(results).headlines
    return next(line for line in lines if (line.pipeline, line.variant) == (pipeline, variant))


def test_a_faster_variant_is_said_with_its_interval_and_parity() -> None:
    results = fixtures.normal()
    found = speed(results, "logistic", "cpu")
    assert found is not None
    assert found.ratio is not None
    assert found.ratio.interval is not None
    low, high = found.ratio.interval
    assert headline(results, "logistic", "cpu").text == (
        f"cpu: {found.ratio.speed_up:.2f}× faster than plain scikit-learn end to end on logistic "
        f"(95 % interval {1 / high:.2f}–{1 / low:.2f}), quality parity PASS"
    )


def test_a_slower_variant_is_called_slower() -> None:
    text = headline(fixtures.with_gpu(), "logistic", "cuda").text
    assert text.startswith("cuda: 1.3")
    assert "× slower than plain scikit-learn end to end on logistic (95 % interval 1." in text
    assert "faster" not in text


def test_equal_times_are_no_difference() -> None:
    results = fixtures.normal()
    same = results.cell("forest", "reference")
    assert same is not None
    results = fixtures.with_cell(results, "forest", "cpu", runs=same.runs)
    text = headline(results, "forest", "cpu").text
    assert "no difference from plain scikit-learn shown" in text
    assert "takes 1.00× as long" in text


def test_three_runs_make_an_indicative_interval() -> None:
    results = fixtures.few()
    assert "interval indicative, n=3" in headline(results, "forest", "cpu").text
    assert any("fewer than 5 timed runs" in caution for caution in verdict(results).caveats)


def test_a_failing_metric_is_named() -> None:
    line = headline(fixtures.parity_failed(), "boosting", "cpu")
    assert line.parity == "FAIL"
    assert line.text.endswith("quality parity FAIL (log_loss)")
    assert verdict(fixtures.parity_failed()).parity == (
        "Quality parity: 2 of 3 within the declared margins."
    )


def test_without_a_gpu_no_claim_is_made_and_the_reason_is_given() -> None:
    found = verdict(fixtures.normal())
    assert (found.kind, found.badge) == ("CPU only", "CPU only: no GPU claim is made")
    assert found.gpu == f"No GPU was used: {fixtures.NO_GPU}."
    assert found.skipped == f"Not run: cuda ({fixtures.NO_GPU})."
    assert not [line for line in found.headlines if line.variant == "cuda"]


def test_what_did_not_run_stands_in_one_line_by_reason() -> None:
    results = fixtures.normal()
    cuda = results.variants[-1]
    more = [replace(cuda, name="accel"), replace(cuda, name="intelex", why="not installed")]
    found = verdict(replace(results, variants=[*results.variants, *more]))
    assert found.skipped == f"Not run: cuda, accel ({fixtures.NO_GPU}); intelex (not installed)."
    assert verdict(fixtures.with_gpu()).skipped == ""


def test_the_reason_of_the_machine_goes_before_that_of_the_variant() -> None:
    results = fixtures.normal()
    machine = replace(results.machine, no_gpu_why="driver 470 is too old.")
    assert verdict(replace(results, machine=machine)).gpu == (
        "No GPU was used: driver 470 is too old."
    )
    unsaid = replace(results, machine=replace(machine, no_gpu_why=""))
    assert verdict(unsaid).gpu == f"No GPU was used: {fixtures.NO_GPU}."


def test_with_a_gpu_it_is_named_and_the_steps_are_counted() -> None:
    found = verdict(fixtures.with_gpu())
    assert found.kind == "comparable"
    assert found.gpu == "cuda ran on Synthetic GPU 1."
    assert "cuda: 12 steps over all pipelines: 3 on cpu, 9 on cuda." in found.places


def test_a_gpu_variant_whose_cells_all_failed_makes_no_gpu_claim() -> None:
    results = fixtures.with_gpu()
    for pipeline in fixtures.SPECS:
        results = fixtures.with_cell(
            results, pipeline, "cuda", status="failed", why="out of memory", runs=[]
        )
    found = verdict(results)
    assert found.kind == "CPU only"
    assert headline(results, "forest", "cuda").text == "cuda: failed on forest, out of memory"


def test_a_failed_cell_is_said_and_counted() -> None:
    results = fixtures.failed()
    line = headline(results, "forest", "cpu")
    assert line.text == "cpu: failed on forest, MemoryError: 3 GiB"
    assert (line.speed, line.parity) == (None, "not judged")
    assert verdict(results).parity.endswith("2 of 2 within the declared margins; 1 did not run.")


def test_a_failed_reference_forbids_the_comparison() -> None:
    found = verdict(fixtures.failed("reference"))
    assert found.kind == "not comparable"
    assert found.badge == "not comparable: the reference has no times on forest"
    said = headline(fixtures.failed("reference"), "forest", "cpu").text
    assert "with no reference to compare" in said


def test_no_margin_or_no_rival_forbids_the_comparison() -> None:
    results = fixtures.normal()
    bare = replace(results, task=replace(results.task, margins={}))
    assert verdict(bare).badge == "not comparable: the task declares no margin of quality"
    alone = replace(results, cells=[c for c in results.cells if c.variant == "reference"])
    assert verdict(alone).badge == "not comparable: nothing but the reference ran"
    assert headline(alone, "forest", "cpu").text == "cpu: no record on forest"


def test_a_quiet_complete_comparison_has_no_caution() -> None:
    assert verdict(fixtures.with_gpu()).caveats == ()


def test_what_weakens_the_comparison_is_listed() -> None:
    results = fixtures.with_gpu()
    forest = results.cell("forest", "cpu")
    assert forest is not None
    runs = [*forest.runs[:5], fixtures.run(3 * forest.runs[0].total)]
    results = fixtures.with_cell(results, "forest", "cpu", runs=runs, agreement=None)
    results = fixtures.with_cell(results, "boosting", "cuda", placement=[])
    results = replace(
        results,
        machine=replace(results.machine, load_before=6.5),
        source=replace(results.source, dirty=True),
    )
    caveats = "\n".join(verdict(results).caveats)
    assert "load average 6.50 on 8 processors" in caveats
    assert "changes that no commit holds" in caveats
    assert "cpu on forest: 6 timed runs of 7 planned." in caveats
    assert "cuda on boosting: no step is recorded as having run on the GPU." in caveats


def test_the_first_metric_stands_beside_the_dummys() -> None:
    results = fixtures.normal()
    assert verdict(results).scores == tuple(
        f"{name}: roc_auc 0.812, dummy 0.500" for name in fixtures.SPECS
    )
    assert verdict(replace(results, baseline={})).scores[-1] == "No dummy was recorded."
    ranked = replace(results, baseline={}, task=replace(results.task, kind="ranking"))
    assert verdict(ranked).scores[-1] == "For ranking there is no dummy."


def test_of_a_reference_that_failed_another_variant_tells_the_metric() -> None:
    assert "forest: roc_auc 0.812, dummy 0.500" in verdict(fixtures.failed("reference")).scores


def test_cautions_are_those_of_the_table_and_those_of_the_scores() -> None:
    results = fixtures.normal()
    assert verdict(results).cautions == tuple(results.cautions)
    worse = fixtures.with_cell(results, "forest", "reference", metrics={"log_loss": 0.6})
    assert verdict(worse).cautions == (
        "forest is worse than a dummy that looks at no column: log_loss 0.600, dummy 0.548; "
        "take a stronger penalty, other columns or another split. [worse-than-dummy]",
        *results.cautions,
    )


@pytest.mark.parametrize(
    ("metrics", "baseline", "rows", "said"),
    [
        ({"r2": -0.81, "mean_absolute_error": 3.0}, {"r2": -0.01, "mean_absolute_error": 2.5}, 999,
         ["worse than a dummy that looks at no column: r2 -0.810, dummy -0.010; mean_abs"]),
        ({"roc_auc": 0.9, "log_loss": 0.7}, {"roc_auc": 0.5, "log_loss": 0.6}, 999,
         ["log_loss 0.700, dummy 0.600; calibrate its probabilities"]),
        ({"roc_auc": 0.5, "log_loss": 0.7}, {"roc_auc": 0.5, "log_loss": 0.6}, 999, ["alike"]),
        ({"accuracy": 0.7, "macro_f1": 0.4}, {"accuracy": 0.7, "macro_f1": 0.4}, 9_999, ["alike"]),
        ({"accuracy": 0.7, "macro_f1": 0.5}, {"accuracy": 0.7, "macro_f1": 0.4}, 9_999, []),
        ({"roc_auc": 0.9995}, {"roc_auc": 0.5}, 999, ["all but perfect (roc_auc 0.9995)"]),
        ({"r2": 1.0, "mean_absolute_error": 0.0}, {}, 999, ["(r2 1.000, mean_absolute"]),
        ({"accuracy": 0.9}, {"accuracy": 0.5}, 143, ["of 143 test rows, accuracy 0.900"]),
        ({"accuracy": 0.9}, {"accuracy": 0.5}, 9_999, []),
        ({"r2": 0.6, "log_loss": 0.4}, {"r2": 0.0, "log_loss": 0.6}, 999, []),
        ({"ndcg_at_10": 1.0}, {}, 999, []),
        ({"r2": 0.004, "mean_absolute_error": 1.996}, {"r2": 0.0, "mean_absolute_error": 2.0}, 999,
         ["hardly better than a dummy that looks at no column: r2 0.004, dummy 0.000; mean_abs"]),
        ({"r2": 0.004, "mean_absolute_error": 1.9}, {"r2": 0.0, "mean_absolute_error": 2.0}, 999,
         []),
        ({"mine": 0.501}, {"mine": 0.5}, 999, []),
    ],
    ids=["worse", "worse by one", "all alike", "all of one class", "as often right", "perfect",
         "perfect number", "few rows", "many rows", "sound", "another metric",
         "hardly better", "better by one", "a metric of unknown scale"],
)  # fmt: skip
def test_doubtful_scores_are_said(
    metrics: dict[str, float], baseline: dict[str, float], rows: int, said: list[str]
) -> None:
    best = {"r2": 1, "roc_auc": 1, "accuracy": 1, "macro_f1": 1, "mean_absolute_error": 0}
    signs = {"macro_f1": 1, "mine": 1, "ndcg_at_10": 1}
    scoring = ScoringInfo(signs=signs, best={**best, "log_loss": 0})
    found = doubts.with_doubts([], [("p", metrics, baseline, rows)], scoring)
    assert len(found) == len(said)
    assert all(words in sentence for words, sentence in zip(said, found, strict=True))


def test_what_makes_scores_worthless_is_said_first_and_a_terminal_says_where_the_rest_is() -> None:
    runs = [("p", {"accuracy": 0.4}, {"accuracy": 0.5}, 99)]
    every = doubts.with_doubts(list("abcdefgh"), runs, ScoringInfo())
    assert [each[:4] for each in every] == ["p is", *"abcdefgh", "p: o"]
    muted = ScoringInfo(mute=["worse-than-dummy", "few-test-rows"])
    assert doubts.with_doubts(["a"], runs, muted) == ["a"]
    *first, last = doubts.in_terminal(every, "record.json")
    assert first == [f"caution: {each}" for each in every[:8]]
    assert last == "2 more cautions: record.json"


def test_the_best_pipeline_is_that_of_the_best_first_metric() -> None:
    results = fixtures.with_cell(fixtures.normal(), "forest", "reference", metrics={"roc_auc": 0.9})
    assert doubts.best_pipeline(results) == "forest"
    for name, loss in zip(fixtures.SPECS, (0.3, 0.2, 0.4), strict=True):
        results = fixtures.with_cell(results, name, "reference", metrics={"log_loss": loss})
    assert doubts.best_pipeline(results) == "forest"
    gain = replace(results, scoring=ScoringInfo(signs={"log_loss": 1}))
    assert doubts.best_pipeline(gain) == "boosting"  # the record knows, not the name
    assert doubts.best_pipeline(replace(results, cells=[])) is None


def test_no_large_figure_stands_beside_no_difference_shown() -> None:
    results = fixtures.with_gpu()
    slow, fast = headline(results, "logistic", "cuda"), headline(results, "forest", "cuda")
    assert f"{slow.figure} than plain" in slow.text
    assert f"{fast.figure} than plain" in fast.text
    same = results.cell("forest", "reference")
    assert same is not None
    equal = fixtures.with_cell(results, "forest", "cuda", runs=same.runs)
    assert headline(equal, "forest", "cuda").figure == "no difference shown"
