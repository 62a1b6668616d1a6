"""The everyday programs run on both sides with equal scores, and their record is read rightly."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.benchmark.worker import WorkerFailed, WorkerGone
from tests.tools.bench_records import cell, results
from tools.bench import claim, everyday, plot, programs, programs_report
from tools.bench.claim import Ask
from tools.bench.everyday import PROGRAMS
from tools.bench.record import Report, Results, Run

ROWS = 1_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("tables")
    everyday.write(home / f"{ROWS}.parquet", ROWS + ROWS // programs.HELD_OUT, seed=0)
    return home


def test_a_seed_gives_the_same_table_and_another_one_another(folder: Path, tmp_path: Path) -> None:
    first = pd.read_parquet(folder / f"{ROWS}.parquet")
    for seed in (0, 1):
        everyday.write(tmp_path / f"{seed}.parquet", len(first), seed)
    assert pd.read_parquet(tmp_path / "0.parquet").equals(first)
    assert not pd.read_parquet(tmp_path / "1.parquet").equals(first)


def test_the_table_has_what_the_programs_are_about(folder: Path) -> None:
    table = pd.read_parquet(folder / f"{ROWS}.parquet")
    assert table[everyday.GAPS].isna().any().all()
    assert table[everyday.WHOLE].notna().all().all()
    assert table[[*everyday.FEW, "origin"]].nunique().to_list() == [5, 5, 5, 3]
    assert set(table["text"].str.split().str.len()) == {everyday.WORDS}
    assert 0.4 < table[everyday.LABEL].mean() < 0.6


def test_there_are_thirty_programs() -> None:
    assert len(PROGRAMS) == 30
    assert set(programs_report.FLIGHTS) < set(PROGRAMS)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_sides_have_the_same_score(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "SHORT", 0)
    monkeypatch.setattr(programs.resource, "setrlimit", lambda what, limits: None)
    reports = [
        programs.work(
            programs.Job(variant=way, program=name, folder=str(folder)), programs.Request(ROWS)
        )
        for way in programs.WAYS
    ]
    plain, ours = (made.values["score"] for made in reports)
    assert plain == pytest.approx(ours, abs=programs_report.SAME_SCORE)
    # Linux counts the resident pages on each processor, and adds them up in batches.
    held = [(made.run.bytes["before"], made.run.bytes["peak"]) for made in reports]
    assert all(0 < before <= peak + 2**20 for before, peak in held)


@pytest.mark.slow
def test_programs_are_measured(tmp_path: Path) -> None:
    settings = {"rows": (500, 200), "budget": (60,), "wide_rows": (2_000,)}
    ask = Ask(settings, 1, home=tmp_path, cases=["scale", "flights-logistic", "wide"])
    found = claim.measure("programs", programs.CLAIM, ask)
    assert [case.name for case in found.cases] == [
        *("scale 200", "scale 500", "flights-logistic 200", "flights-logistic 500"),
        *("wide int64", "wide text"),
    ]
    assert all(cell.ok for cell in found.cells)
    assert "| flights-logistic ≤ 0.8×, equal scores | " in programs.CLAIM.part(found)
    assert "2,000 rows of 10 columns of 50,000 texts" in programs.CLAIM.part(found)
    assert "OneHotEncoder(handle_unknown='ignore')" in programs.CLAIM.details(found)


class Side:
    """A worker that has no process; `dies` says when, by the budget of the request."""

    def __init__(self, job: programs.Job, answer: object) -> None:
        self.job = job

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *exc: object) -> None:
        self.job = None

    def ask(self, request: programs.Request) -> Report:
        slow = {("plain", 30), ("ours", 20)}
        if request.budget and (self.job.variant, request.rows) in slow:
            raise WorkerGone("the process was ended by SIGALRM")
        if request.rows == 13:
            raise WorkerGone("the process was ended by SIGSEGV")
        return Report(run=Run(seconds={"fit": request.budget}))


def test_what_takes_too_long_is_not_run_nor_are_more_rows_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "WorkerProcess", Side)
    with programs.Pair("scale", tmp_path, 2) as pair:
        assert [pair.run("plain", 10).total for _ in range(3)] == [2, 0, 0]
        assert pair.run("ours", 10).total == 2 * programs.PATIENCE
        with pytest.raises(WorkerFailed, match="^over 10 s$"):
            pair.run("ours", 20)
        assert pair.run("plain", 20).total == 2
        with pytest.raises(WorkerGone, match="SIGSEGV"):
            pair.run("plain", 13)
        for way, rows in (("plain", 30), ("ours", 30), ("plain", 40)):
            with pytest.raises(WorkerFailed, match=r"^not run: over 2 s in plain scikit-learn$"):
                pair.run(way, rows)


@pytest.mark.slow
def test_a_first_run_ends_with_its_budget(folder: Path) -> None:
    says = pytest.raises(WorkerFailed, match="not run: over 0.0001 s")
    with programs.Pair("tfidf-svc", folder, 1e-4) as pair, says:
        pair.run("plain", ROWS)


# The record.


def made(**ours: object) -> Results:
    """Return a record of one program of 1,000 rows that takes 1 s and 100 MiB in scikit-learn."""
    sides = {"plain": {}, "ours": ours}
    facts = {"title": "scale", "score": 0.5, "taken": [1.0] * 5, "held": 150, "why": ""}
    cells = [
        cell(
            way,
            {phase: [s / 2 for s in told["taken"]] for phase in ("fit", "predict")},
            case=f"{told['title']} 1000",
            why=told["why"],
            held={"before": 50, "peak": told["held"]},
            score=told["score"],
        )
        for way, given in sides.items()
        for told in [facts | ({"title": ours.get("title", "scale")} | given)]
    ]
    found = results(*cells, **{"held out": 250})
    found.cases[:] = [
        programs_report.record.Case(name=c.name, title=c.name.split()[0], facts=c.facts)
        for c in found.cases
    ]
    return found


@pytest.mark.parametrize(
    ("ours", "line"),
    [
        ({"taken": [0.6] * 5}, "| median time ≤ 0.6× | 0.60× PASS |"),
        ({"taken": [0.61] * 5}, "| median time ≤ 0.6× | 0.61× **miss** |"),
        ({"taken": [1.05] * 5}, "| each time ≤ 1.05× (upper end) | 1.05×, 0 of 1 above: PASS |"),
        (
            {"taken": [0.9, 0.9, 0.9, 1.1, 1.1]},
            "| each time ≤ 1.05× (upper end) | 1.10×, 1 of 1 above: **miss** |",
        ),
        ({"held": 161}, "| each memory ≤ 1.1× (upper end) | 1.11×, 1 of 1 above: **miss** |"),
        ({"held": 160}, "| each memory ≤ 1.1× (upper end) | 1.10×, 0 of 1 above: PASS |"),
        ({"held": 50}, "| each memory ≤ 1.1× (upper end) | 0.04×, 0 of 1 above: PASS |"),
        ({"score": 0.4991}, "| unequal scores: none | 0 of 1 PASS |"),
        ({"score": 0.498}, "| unequal scores: none | 1 of 1 **miss** |"),
        (
            {"title": "flights-xgboost", "taken": [0.8] * 5},
            "| flights-xgboost ≤ 0.8×, equal scores | 0.80× (0.80–0.80) PASS |",
        ),
        (
            {"title": "flights-xgboost", "taken": [0.7] * 5, "score": 0.6},
            "| flights-xgboost ≤ 0.8×, equal scores | 0.70× (0.70–0.70) **miss** |",
        ),
        ({}, "| flights-logistic ≤ 0.8×, equal scores | – |"),
        ({}, "| not run: plain scikit-learn takes too long | 0 |"),
    ],
)
def test_a_target_is_met_or_not(ours: dict[str, object], line: str) -> None:
    assert line in programs_report.part(made(**ours)).splitlines()


def test_what_is_slower_is_named_and_so_is_what_did_not_end() -> None:
    slow = programs_report.part(made(taken=[2.0] * 5, held=350))
    assert "Upper end above 1.05×, time of 1,000 rows: scale 2.00×." in slow
    assert "Upper end above 1.1×, memory of 1,000 rows: scale 3.00×." in slow
    gone = made(why="over 60 s")
    assert "Upper end above 1.05×, time of 1,000 rows: scale (over 60 s)." in programs_report.part(
        gone
    )
    assert "| scale | 1,000.0 | over 60 s | – |" in programs_report.details(gone)


@pytest.mark.parametrize(("peak", "met"), [(125, "125 MiB PASS"), (126, "125 MiB **miss**")])
def test_wide_columns_may_take_their_output_and_a_share_of_their_input(peak: int, met: str) -> None:
    sizes = {"input_bytes": 100 * 2**20, "output_bytes": 100 * 2**20}
    held = {"empty": 50, "before": 150, "peak": 150 + peak}
    found = results(cell("ours", {"fit": [1.0]}, case="wide int64", held=held, **sizes))
    assert f"a peak of {peak} MiB beyond them" in programs_report.part(found)
    assert programs_report.part(found).endswith(f"{met}.")


def test_the_plot_has_a_row_for_each_program_and_a_mark_for_each_size(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot.draw_programs(made(taken=[0.5, 0.6, 0.7, 0.8, 0.9]), tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text()
    assert all(f">{word}<" in drawn for word in ("scale", "1,000 rows"))
