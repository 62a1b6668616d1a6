"""The sentences of a comparison: what is claimed, and what is not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pipeline.benchmark.judge.statistics import over_tasks
from pipeline.benchmark.judge.verdict import Headline, in_terminal, ranked, verdict, with_doubts
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.cards import how_to_use
from pipeline.task.scoring import ScoringInfo
from tests.benchmark import fixtures


def headline(results: Results, pipeline: str, variant: str) -> Headline:
    lines = verdict(results).headlines
    return next(line for line in lines if (line.pipeline, line.variant) == (pipeline, variant))


def test_a_failing_metric_is_named() -> None:
    line = headline(fixtures.parity_failed(), "boosting", "cpu")
    assert line.parity == "FAIL"
    assert line.judged == "FAIL (log_loss)"
    assert verdict(fixtures.parity_failed()).parity == (
        "Quality parity: 2 of 3 within the declared margins."
    )


def test_without_a_gpu_no_claim_is_made_and_the_reason_is_given() -> None:
    found = verdict(fixtures.normal())
    assert (found.kind, found.badge) == ("CPU only", f"CPU only: {fixtures.NO_GPU}")
    assert found.skipped == "", "the badge says it"
    page = fixtures.html_of(fixtures.normal())
    assert page.count(fixtures.NO_GPU) == 1
    assert not [line for line in found.headlines if line.variant == "cuda"]


def test_with_a_gpu_it_is_named() -> None:
    found = verdict(fixtures.with_gpu())
    assert found.kind == "comparable"
    assert found.badge == "comparable: cuda ran on Synthetic GPU 1"


def test_a_failed_cell_is_said_and_counted() -> None:
    results = fixtures.failed()
    line = headline(results, "forest", "cpu")
    assert (line.speed, line.parity) == (None, "no margin")
    assert verdict(results).parity.endswith("2 of 2 within the declared margins; 1 did not run.")


def test_a_failed_reference_forbids_the_comparison() -> None:
    found = verdict(fixtures.failed("reference"))
    assert found.kind == "not comparable"
    assert found.badge == "not comparable: plain scikit-learn has no times on forest"
    timed = headline(fixtures.failed("reference"), "forest", "cpu").speed
    assert timed.ratio is None


def test_no_margin_or_no_rival_forbids_the_comparison() -> None:
    results = fixtures.normal()
    bare = replace(results, task=replace(results.task, margins={}))
    assert verdict(bare).badge == "not comparable: the task declares no margin of quality"
    alone = replace(results, cells=[c for c in results.cells if c.variant == "reference"])
    assert verdict(alone).badge == "not comparable: only plain scikit-learn ran"
    assert headline(alone, "forest", "cpu").speed is None


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
    assert "cuda on boosting: no step ran on the GPU." in caveats


def with_others(results: Results, share: float) -> Results:
    """The same with a share of the processors' time taken by other processes."""
    cells = [
        replace(cell, runs=[
            replace(run, other_cpu_seconds=share * results.machine.cores * run.total)
            for run in cell.runs
        ])
        for cell in results.cells
    ]  # fmt: skip
    return replace(results, cells=cells)


@pytest.mark.parametrize(
    ("results", "doubt"),
    [
        (fixtures.few(), "fewer than 5 runs"),
        (with_others(fixtures.normal(), 0.3), "the machine was busy"),
    ],
)
def test_of_few_runs_or_on_a_busy_machine_there_is_no_verdict(results: Results, doubt: str) -> None:
    for line in verdict(results).headlines:
        assert line.speed.ratio.outcome == "no verdict"
    for form in (fixtures.html_of(results), fixtures.markdown_of(results)):
        assert f"no verdict: {doubt}" in form
        assert "× faster</b>" not in form
    assert over_tasks([results] * 5, "cpu") is None


def test_a_quiet_machine_with_a_measurement_needs_no_load_average() -> None:
    quiet = with_others(fixtures.normal(), 0.2)
    busy_before = replace(quiet, machine=replace(quiet.machine, load_before=99.0))
    outcomes = {line.speed.ratio.outcome for line in verdict(busy_before).headlines}
    assert outcomes == {"faster"}


def test_the_best_pipeline_has_the_best_first_metric() -> None:
    base = fixtures.normal()
    cells = [replace(c, metrics={"log_loss": {"logistic": 0.5, "forest": 0.3}.get(c.pipeline, 0.4)})
             for c in base.cells]  # fmt: skip
    results = replace(base, cells=cells, baseline={"log_loss": 0.6})
    assert ranked(results) == ["forest", "boosting", "logistic"]
    assert verdict(results).best == "forest"
    source = replace(base.source, command="python -m pipeline report taxi --seed=7 --repeats 9")
    how = how_to_use(replace(results, source=source), "forest")
    assert "pipeline run flights --seed 7 --pipelines forest\n" in how.commands
    own = replace(base, cells=[replace(c, metrics={"mine": 0.5}) for c in base.cells])
    assert verdict(own).best == ""
    assert how_to_use(own, "") is None


def test_why_there_is_no_dummy_is_said() -> None:
    results = replace(fixtures.normal(), baseline={})
    assert "No dummy was recorded." in fixtures.markdown_of(results)
    ranked = replace(results, task=replace(results.task, kind="ranking"))
    assert "Ranking has no dummy." in fixtures.markdown_of(ranked)


@pytest.mark.parametrize(
    ("metrics", "baseline", "said"),
    [
        ({"r2": -0.81, "mean_absolute_error": 3.0}, {"r2": -0.01, "mean_absolute_error": 2.5},
         "worse than a dummy that ignores all columns: r2 -0.810, dummy -0.010; mean_abs"),
        ({"roc_auc": 0.9, "log_loss": 0.7}, {"roc_auc": 0.5, "log_loss": 0.6},
         "log_loss 0.700, dummy 0.600; try"),
        ({"roc_auc": 0.5, "log_loss": 0.7}, {"roc_auc": 0.5, "log_loss": 0.6}, "no better"),
        ({"accuracy": 0.7, "macro_f1": 0.4}, {"accuracy": 0.7, "macro_f1": 0.4}, "no better"),
        ({"accuracy": 0.7, "macro_f1": 0.5}, {"accuracy": 0.7, "macro_f1": 0.4}, ""),
        ({"roc_auc": 0.9995}, {"roc_auc": 0.5}, "almost perfect (roc_auc 0.9995)"),
        ({"r2": 1.0, "mean_absolute_error": 0.0}, {}, "(r2 1.000, mean_absolute"),
        ({"r2": 0.6, "log_loss": 0.4}, {"r2": 0.0, "log_loss": 0.6}, ""),
        ({"ndcg_at_10": 1.0}, {}, ""),
        ({"r2": 0.004, "mean_absolute_error": 1.996}, {"r2": 0.0, "mean_absolute_error": 2.0},
         "hardly better than a dummy that ignores all columns: r2 0.004, dummy 0.000; mean_abs"),
        ({"r2": 0.004, "mean_absolute_error": 1.9}, {"r2": 0.0, "mean_absolute_error": 2.0}, ""),
        ({"mine": 0.501}, {"mine": 0.5}, ""),
    ],
)  # fmt: skip
def test_doubtful_scores_are_said(
    metrics: dict[str, float], baseline: dict[str, float], said: str
) -> None:
    best = {"r2": 1, "roc_auc": 1, "accuracy": 1, "macro_f1": 1, "mean_absolute_error": 0}
    signs = dict.fromkeys((*best, "mine", "ndcg_at_10"), 1)
    signs |= {"mean_absolute_error": -1, "log_loss": -1}
    scoring = ScoringInfo(signs=signs, best={**best, "log_loss": 0})
    record = replace(fixtures.normal(), cautions=[], baseline=baseline, scoring=scoring)
    found = with_doubts(record, [("p", metrics)])
    assert len(found) == bool(said)
    assert all(said in sentence for sentence in found)


def test_what_makes_scores_worthless_is_said_first_and_a_terminal_says_where_the_rest_is() -> None:
    scoring = ScoringInfo(signs={"accuracy": 1})
    record = replace(
        fixtures.normal(), cautions=list("abcdefgh"), baseline={"accuracy": 0.5}, scoring=scoring
    )
    models = [("p", {"accuracy": 0.4})]
    every = with_doubts(record, models)
    assert [each.removeprefix("critical: ")[:4] for each in every] == ["p is", *"abcdefgh"]
    muted = replace(record, scoring=ScoringInfo(signs={"accuracy": 1}, mute=["worse-than-dummy"]))
    assert with_doubts(muted, models) == [*"abcdefgh"]
    *first, last = in_terminal(every, "record.json")
    assert first == every[:8]
    assert last == "1 more cautions: record.json"
