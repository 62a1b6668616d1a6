"""The one runner, on work that takes no time, and its command line."""

from __future__ import annotations

import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.benchmark.resume import FinishedRuns
from pipeline.benchmark.worker import WorkerFailed
from pipeline.errors import PipelineError
from tools.bench import __main__ as command
from tools.bench import claim, record, report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Report, Run, Variant

ASK = Ask(settings={"rows": (3,)}, repeats=4)


class Work:
    """Counts its runs, and fails in the one whose number is given."""

    def __init__(self, fails_at: int = -1) -> None:
        self.runs, self.fails_at = 0, fails_at

    def __call__(self) -> Report:
        self.runs += 1
        if self.runs == self.fails_at:
            raise WorkerFailed("no room")
        return Report(run=Run(seconds={"fit": float(self.runs)}), values={"auc": self.runs / 10})


def claim_of(works: dict[str, Work], *, most: int = 9, **changed: object) -> Claim:
    def cases(ask: Ask) -> Generator[Case, None, None]:
        variants = {name: here(work) for name, work in works.items()}
        about = record.Case(name="one", facts={"rows": ask.one("rows")})
        yield Case(about, variants, most_repeats=most)

    plain = Claim(
        folder="made-up",
        settings={"rows": (3,)},
        repeats=2,
        cases=cases,
        names=("one",),
        variants=[Variant(name=name, title=name) for name in works],
        clock="{rows} rows",
        isolation="none",
        tables=[report.Table([report.variant(), report.took("s", "fit", "{:.1f}".format)])],
    )
    return replace(plain, **changed)


def test_variants_warm_up_and_take_turns_in_an_order_that_the_seed_fixes() -> None:
    works = {name: Work() for name in "abcd"}
    found = claim.measure("made", claim_of(works), ASK)
    order = [name.removeprefix("one/") for name in found.protocol.order]
    assert all(sorted(order[i : i + 4]) == list("abcd") for i in range(0, 16, 4))
    assert order[:4] != order[4:8] or order[:4] != order[8:12]
    assert {work.runs for work in works.values()} == {5}
    assert found.case("one").facts == {"rows": 3}
    for cell in found.cells:
        assert cell.warmup == Run(seconds={"fit": 1.0})
        assert [run.seconds["fit"] for run in cell.runs] == [2, 3, 4, 5]
        assert cell.values == {"auc": 0.5}, "of the last run"
    assert (found.protocol.clock, found.protocol.warmups) == ("3 rows", 1)
    again = claim.measure("made", claim_of({name: Work() for name in "abcd"}), ASK)
    assert again.protocol.order == found.protocol.order
    other = claim.measure("made", claim_of({n: Work() for n in "abcd"}), replace(ASK, seed=1))
    assert other.protocol.order != found.protocol.order


def test_a_case_may_have_fewer_repeats_and_a_variant_may_be_left_out() -> None:
    works = {"a": Work(), "b": Work()}
    found = claim.measure("made", claim_of(works, most=1), replace(ASK, variants=["b"]))
    assert ([c.variant for c in found.cells], len(found.cells[0].runs)) == (["b"], 1)
    assert [each.name for each in found.variants] == ["b"]
    assert works["a"].runs == 0


@pytest.mark.parametrize(("fails_at", "runs"), [(1, 0), (3, 1)])
def test_a_variant_that_fails_is_recorded_and_runs_no_more(fails_at: int, runs: int) -> None:
    works = {"good": Work(), "bad": Work(fails_at)}
    found = claim.measure("made", claim_of(works, may_fail=True), ASK)
    good, bad = found.cells
    assert (good.ok, bad.ok, bad.why, len(bad.runs)) == (True, False, "no room", runs)
    assert works["bad"].runs == fails_at
    assert found.cell("one", "bad") is None


def test_a_claim_that_allows_no_failure_has_no_record_then() -> None:
    with pytest.raises(PipelineError, match="one, bad: no room"):
        claim.measure("made", claim_of({"good": Work(), "bad": Work(2)}), ASK)
    with pytest.raises(PipelineError, match="no run succeeded: no room"):
        claim.measure("made", claim_of({"bad": Work(1)}, may_fail=True), ASK)


def test_what_has_run_is_not_run_again(tmp_path: Path) -> None:
    kept = {"kind": Report}
    first = claim.measure(
        "made", claim_of({"a": Work()}), ASK, FinishedRuns(tmp_path / "runs", {}, **kept)
    )
    work = Work()
    finished = FinishedRuns(tmp_path / "runs", {}, **kept)
    again = claim.measure("made", claim_of({"a": work}), ASK, finished)
    assert (again.cells, work.runs) == (first.cells, 0)
    assert again.protocol.resumed == 5


# The command.


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(tmp_path)

    def called(works: dict[str, Work], *words: str, **changed: object) -> int:
        monkeypatch.setitem(command.CLAIMS, "made", claim_of(works, **changed))
        monkeypatch.setattr(sys, "argv", ["bench", "made", "--out", "out/record", *words])
        return command.main()

    return called


def test_the_record_is_published_and_its_tables_are_printed(
    call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        call({"a": Work()}, "--repeats", "3", "--set", "rows=7", details=lambda _: "all of it") == 0
    )
    found = record.load(tmp_path / "out/record/results.json")
    assert (found.claim, found.settings, len(found.cells[0].runs)) == ("made", {"rows": [7]}, 3)
    assert found.source.command.startswith(".venv/bin/python -m tools.bench made --out out/record ")
    assert (tmp_path / "out/record/report.md").read_text() == "all of it"
    assert capsys.readouterr().out == "all of it\n"
    assert call({"a": Work()}) == 0
    assert "| a | 2.5 |" in capsys.readouterr().out
    assert not [*tmp_path.glob(".bench.*"), *(tmp_path / "out").glob("*.runs")]


def test_an_interrupted_command_keeps_its_runs_and_the_next_goes_on(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(Work):
        def __call__(self) -> Report:
            if self.runs == 2:
                raise KeyboardInterrupt
            return super().__call__()

    assert call({"a": Interrupted()}) == 130
    assert "2 finished runs are kept" in capsys.readouterr().err
    assert not (tmp_path / "out/record").exists()
    work = Work()
    assert call({"a": work}) == 0
    assert work.runs == 2, "the new process warms up, and the last run is made"
    assert record.load(tmp_path / "out/record/results.json").protocol.resumed == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--repeats", "0"], "--repeats must be at least 1"),
        (["--variants", "aa"], "unknown variant 'aa'"),
        (["--cases", "taxi"], "unknown case 'taxi'"),
        (["--set", "row=1"], "did you mean 'rows'"),
        (["--set", "rows=x"], "give whole numbers, as rows=1000"),
        (["--set", "rows=-1"], "a number of at least 0"),
        (["--set", "rows=1,2"], "a number of at least 0"),
    ],
)
def test_a_wrong_option_is_named_before_anything_runs(
    call, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    work = Work()
    assert call({"a": work}, *words) == 2
    assert says in capsys.readouterr().err
    assert (work.runs, (tmp_path / "out").exists()) == (0, False)
