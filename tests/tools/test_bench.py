"""Claims are measured on a few rows, and tables and targets say what the record says."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields

from pipeline.errors import PipelineError
from tests.tools.bench_work import start
from tools import docs
from tools.bench import __main__ as command
from tools.bench import figure, files, growth, prediction, programs, record, report, runner
from tools.bench.__main__ import CLAIMS
from tools.bench.record import Cell, Measured, Results, Run, Variant
from tools.bench.runner import Ask, Claim, Processes, Side, measure, take_turns

FACTS = {"rows": 1_000}
SETTINGS = {
    "files": {"rows": (300, 600), "budget": (60,)},
    "preprocessing": {},
    "programs": {"rows": (200, 500), "budget": (60,)},
    "growth": {"rows": (1_000, 2_000)},
    "searches": {"rows": (300,)},
    "prediction": {"calls": (2,), "trained": (500,), "rows": (1, 10)},
    "importance": {"trained": (300,), "rows": (150,), "permutations": (1,)},
}
CASES = {
    "files": ["flights-logistic", "tfidf-logistic"],
    "programs": ["scale", "onehot5-kmeans", "tfidf-logistic"],
    "searches": ["logistic"],
    "prediction": ["xgboost"],
    "importance": ["boosting"],
}


# The runner, on work that takes no time.


def claim_of(variants: Sequence[str], **changed: Any) -> Claim:
    def cases(ask: Ask) -> Iterator[record.Case]:
        yield record.Case(name="one", facts=dict(FACTS))

    plain = Claim(
        name="made", settings={"rows": (3,)}, repeats=2, cases=cases, start=start, names=("one",),
        variants=[Variant(name=name, title=name.upper()) for name in variants], clock="{rows} rows",
        columns=[report.VARIANT, report.took("s", "fit", "{:.1f}".format)],
    )  # fmt: skip
    return replace(plain, **changed)


def test_each_variant_has_a_process_and_its_first_run_does_not_count() -> None:
    found = measure(claim_of("ab"), Ask({"rows": (3_000,)}, 4))
    for cell in found.cells:
        assert cell.warmup == Run(seconds={"fit": 1.0})
        assert [run.seconds["fit"] for run in cell.runs] == [2, 3, 4, 5]
        assert len({cell.values[f"turn {i}"] for i in range(1, 6)}) == 1, "one process"
        assert cell.values["turn"] == 5, "of the last run"
    assert len({cell.values["turn 1"] for cell in found.cells} | {os.getpid()}) == 3
    assert (found.protocol.clock, found.protocol.warmups) == ("3,000 rows", 1)
    assert sorted(found.protocol.order) == ["one/a"] * 4 + ["one/b"] * 4


@pytest.mark.parametrize(
    ("variants", "why", "runs"),
    [
        (["a", "fails", "dies"], ["", "ValueError: no room", "the process ended with exit code 3"],
         [3, 1, 0]),
        (["sleeps", "a"], ["over 1 s", "not run: sleeps failed"], [0, 0]),
    ],
)  # fmt: skip
def test_a_variant_that_fails_runs_no_more(
    variants: list[str], why: list[str], runs: list[int]
) -> None:
    claim, case, processes = claim_of(variants), record.Case(name="one"), Processes()
    sides = [Side(claim, Ask({}, 3), case, each, processes) for each in variants]
    take_turns(claim, Ask({"budget": (1,)}, 3), sides)
    processes.end()
    cells = [side.cell("one", warms_up=True) for side in sides]
    assert [each.why for each in cells] == why
    assert [len(each.runs) for each in cells] == runs
    assert [each.ok for each in cells] == [not each for each in why]


def test_a_variant_may_take_some_times_as_long_as_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[float] = []

    def turn(side: Side, limit: float = 0) -> None:
        limits.append(limit)
        time.sleep(0.5 if side.variant == "slow" else 0)

    monkeypatch.setattr(Side, "turn", turn)
    monkeypatch.setattr(runner, "PATIENCE", 12)
    for variants in ("ab", ["slow", "b"]):
        claim, case, processes = claim_of(variants), record.Case(name="one"), Processes()
        sides = [Side(claim, Ask({}, 0), case, each, processes) for each in variants]
        take_turns(claim, Ask({"budget": (3,)}, 0), sides)
        processes.end()
    assert limits[:3] == [3, runner.SHORT, 3]
    assert 6 <= limits[3] < 60, "twelve times half a second, or more where the machine is busy"


@pytest.mark.parametrize(("shares", "processes"), [("case", 3), ("title", 2), ("claim", 1)])
def test_cases_may_share_a_process(shares: Any, processes: int) -> None:
    def cases(ask: Ask) -> Iterator[record.Case]:
        for title, name in ("AB", "AC", "DE"):
            yield record.Case(name=name, title=title)

    found = measure(claim_of("a", cases=cases, shares=shares), Ask({"rows": (3,)}, 1))
    assert [[run.seconds["fit"] for run in cell.runs] for cell in found.cells] == [[2.0]] * 3
    assert len({cell.values["turn 1"] for cell in found.cells}) == processes


def test_a_case_of_short_runs_has_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for short, runs in ((60.0, 4), (0.0, 2)):
        monkeypatch.setattr(runner, "SHORT", short)
        found = measure(claim_of("ab", most=4), Ask({"rows": (3,)}, 2))
        assert [len(cell.runs) for cell in found.cells] == [runs] * 2
        assert report.where(found).startswith(f"{runs} runs; 3 rows; ")
    less = replace_fields(found.cells[0], runs=found.cells[0].runs[:1])
    made = replace_fields(found, cells=[less, found.cells[1]])
    assert report.where(made).startswith("1 to 2 runs; ")


def test_a_variant_that_does_not_run_on_a_case_has_no_cell() -> None:
    claim = claim_of("ab", runs=lambda case, variant: variant == "a")
    assert [cell.variant for cell in measure(claim, Ask({"rows": (3,)}, 2)).cells] == ["a"]


def test_variants_start_before_any_of_them_runs() -> None:
    found = measure(claim_of(["starts", "starts too"]), Ask({"rows": (3,)}, 2))
    begun = [cell.values["started"] for cell in found.cells]
    assert max(begun) < min(cell.values["first turn"] for cell in found.cells)


def test_a_claim_of_which_nothing_runs_has_no_record() -> None:
    with pytest.raises(PipelineError, match="no run succeeded: ValueError: no room"):
        measure(claim_of(["fails"], warms_up=False), Ask({"rows": (3,)}, 3))


# The command.


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(command.CLAIMS, "made", claim_of("a"))

    def called(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["bench", "made", "--out", "out", *words])
        return command.main()

    return called


def test_the_record_is_written_and_its_tables_are_printed(
    call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--repeats", "3") == 0
    found = record.load(tmp_path / "out/results.json")
    assert (found.claim, found.settings, len(found.cells[0].runs)) == ("made", {"rows": [3]}, 3)
    assert found.source.command.startswith(".venv/bin/python -m tools.bench made --out out ")
    assert "| A | 3.0 |" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"build", "out"}
    assert not [*(tmp_path / "build/bench").iterdir()], "nothing was interrupted"


def test_a_case_that_was_measured_is_not_measured_again(
    call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def process() -> float | None:
        return record.load(tmp_path / "out/results.json").cells[0].values["turn 1"]

    kept = tmp_path / "build/bench/made.json"
    monkeypatch.setattr(command, "_forget", lambda kept: None)  # as after an interruption
    assert call("--repeats", "3") == 0
    first, known = process(), kept.read_bytes()
    assert call("--repeats", "3") == 0
    assert "--again measures them again" in capsys.readouterr().err
    assert process() == first
    assert call("--repeats", "2") == 0
    assert process() != first
    for name, value in (
        ("code", lambda *folders: {"pipeline/new.py": "another"}),
        ("read_kept", 0),
    ):
        kept.write_bytes(known)
        with monkeypatch.context() as changed:
            if name == "code":
                changed.setattr(record, name, value)
            else:
                changed.setenv("OMP_NUM_THREADS", "7")
            assert call("--repeats", "3") == 0
        assert process() != first, name
    kept.write_bytes(known)
    monkeypatch.undo()


def test_all_claims_are_measured_and_then_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "CLAIMS", {n: claim_of("a", name=n) for n in ("one", "two")})
    kept = tmp_path / "build/bench/one.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("no record")
    monkeypatch.setattr(sys, "argv", ["bench", "all", "--out", "one"])
    assert command.main() == 2
    monkeypatch.setattr(sys, "argv", ["bench", "all", "--again"])
    assert command.main() == 0
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json"))
    assert made == [f"docs/results/{name}-cpu/results.json" for name in ("one", "two")]


def test_a_case_that_failed_is_measured_again(tmp_path: Path) -> None:
    claim, kept = claim_of(["a", "fails"]), tmp_path / "made.json"
    found = measure(claim, Ask({"rows": (3,)}, 3), kept)
    assert [cell.ok for cell in found.cells] == [True, False]
    assert not kept.exists()


def test_a_case_that_took_too_long_is_kept(tmp_path: Path) -> None:
    claim, kept = claim_of(["sleeps", "a"]), tmp_path / "made.json"
    part = Measured(cells=[Cell(case="one", variant="a", why="over 9 s", runs=[])], order=[],
                    threads={}, load=0.0)  # fmt: skip
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(runner, "_measured", lambda *every: part)
        with pytest.raises(PipelineError, match="no run succeeded: over 9 s"):
            measure(claim, Ask({"rows": (3,)}, 3), kept)
    assert kept.exists()


def test_what_was_measured_before_an_interruption_is_kept(
    call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def cases(ask: Ask, *, ends: bool) -> Iterator[record.Case]:
        yield record.Case(name="one", facts=dict(FACTS))
        if ends:
            raise KeyboardInterrupt
        yield record.Case(name="two", facts=dict(FACTS))

    for ends, code in ((True, 130), (False, 0)):
        claim = claim_of("a", cases=partial(cases, ends=ends))
        monkeypatch.setitem(command.CLAIMS, "made", claim)
        assert call() == code
    said = capsys.readouterr().err
    assert "goes on from here" in said
    assert (said.count("[bench] one:"), said.count("[bench] two:")) == (1, 1)
    found = record.load(tmp_path / "out/results.json")
    assert [case.name for case in found.cases] == ["one", "two"]
    assert found.protocol.order == ["one/a", "one/a", "two/a", "two/a"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--repeats", "0"], "--repeats must be at least 1"),
        (["--cases", "taxi"], "unknown case 'taxi'"),
    ],
)
def test_a_wrong_option_is_named_before_anything_runs(
    call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    words: list[str], says: str,
) -> None:  # fmt: skip
    assert call(*words) == 2
    assert says in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


# The claims.


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_measured(name: str, small_home: Path, tmp_path: Path) -> None:
    ask = Ask(SETTINGS[name], 2, home=tmp_path, data=small_home, cases=CASES.get(name, []))
    found = measure(CLAIMS[name], ask)
    failed = {cell.variant: cell.why for cell in found.cells if not cell.ok}
    extra = {"skrub": "skrub", "intelex": "sklearnex"}
    absent = {variant for variant, module in extra.items() if find_spec(module) is None}
    assert failed.keys() <= absent, failed
    assert CLAIMS[name].part(found)
    equal = [row.met for row in report.outcomes(found, CLAIMS[name].targets)
             if row.measured.endswith(" apart")]  # fmt: skip
    assert all(equal)
    assert bool(equal) == (name in {"preprocessing", "searches", "importance"})


@pytest.mark.slow
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_all_sides_of_a_program_have_the_same_score(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "SHORT", 0)
    programs.write(tmp_path / "1000.parquet", 1_250, seed=0)
    case = record.Case(name=f"{name} 1000", title=name, facts={"rows": 1_000})
    sides = programs.PLAIN, programs.OURS, programs.ACCEL
    made = [programs.start(Ask({}, 1, home=tmp_path), case, side)() for side in sides]
    plain, *others = (values["score"] for _, values in made)
    assert others == pytest.approx([plain, plain], abs=programs.SAME_SCORE)


# Tables and targets.


def cell(
    variant: str, seconds: Mapping[str, Sequence[float]], *, case: str = "one", why: str = "",
    **values: float | None,
) -> Cell:  # fmt: skip
    """Return a cell whose runs took these seconds."""
    runs = [
        Run(seconds=dict(zip(seconds, each, strict=True)))
        for each in zip(*seconds.values(), strict=True)
    ]
    return Cell(case=case, variant=variant, why=why, runs=runs, values=values)


def results(*cells: Cell, facts: Mapping[str, float] = FACTS) -> Results:
    kept = record.load(docs.ROOT / "docs/results/importance-cpu/results.json")
    cases = dict.fromkeys(each.case for each in cells)
    variants = dict.fromkeys(each.variant for each in cells)
    return Results(
        schema=record.SCHEMA, created=kept.created, machine=kept.machine, source=kept.source,
        claim="made", settings={}, protocol=kept.protocol,
        cases=[record.Case(name=n, title=n.split()[0], facts=dict(facts)) for n in cases],
        variants=[Variant(name=name, title=name) for name in variants], cells=list(cells),
    )  # fmt: skip


def found(target: report.Target, made: Results) -> tuple[str, bool]:
    (row,) = report.outcomes(made, [target])
    text = report.verdicts(made, [target])
    assert text == "Targets met: 1 of 1." or f"wanted, {row.measured} measured" in text
    assert row.met == ("1 of 1" in text)
    return row.measured, row.met


RECORD = results(
    cell("reference", {"fit": [8.0] * 5, "read": [1.0] * 5}, auc=0.8, r2=0.5),
    cell("ours", {"fit": [1, 1, 1, 50, 1], "read": [1.5] * 5}, auc=0.9, r2=0.5),
    cell("broken", {}, why="no module | polars"),
)
FASTER = "8.0× faster (6.2× slower to 8.0× faster)"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (report.as_fast("fit", "ours", "reference", 8.0), (FASTER, True)),
        (report.as_fast("fit", "ours", "reference", 8.1), (FASTER, False)),
        (report.as_fast("read", "ours", "reference", 1), ("1.50× slower (1.50–1.50)", False)),
        (
            report.as_fast("read+fit", "ours", "reference", 1),
            ("3.6× faster (5.7× slower to 3.6× faster)", True),
        ),
        (report.as_fast("fit", "broken", "reference", 1), ("–", False)),
        (report.equal("AUC", "ours", "reference", 0.11), ("1.0e-01 apart", True)),
        (report.equal("AUC", "ours", "reference", 0.09), ("1.0e-01 apart", False)),
        (report.equal("AUC", "ours", "broken", 1), ("–", False)),
    ],
)
def test_a_target_is_met_at_its_number_and_not_beside(
    target: report.Target, said: tuple[str, bool]
) -> None:
    assert found(target, RECORD) == said


@pytest.mark.parametrize(
    ("ours", "summary", "line"),
    [
        ({}, "1 | as fast | 0 | 0 | – | – | 0", "as fast (1.00× faster to 1.00× faster) |"),
        ({"taken": 1.04}, "1 | 1.04× slower | 1 | 0 | – | – | 0", "1.04× slower (1.04–1.04) |"),
        ({"taken": 1.06}, "1 | 1.06× slower | 1 | 1 | – | – | 0", "1.06× slower (1.06–1.06) |"),
        ({"score": 0.498}, "1 | as fast | 0 | 0 | – | – | 1", "**different score** |"),
        ({"why": "over 50 s"}, "0 | – | 0 | 0 | – | – | 0", "– |"),
    ],
)
def test_programs_are_counted_by_size(ours: dict[str, Any], summary: str, line: str) -> None:
    made = results(side(programs.PLAIN), side(programs.OURS, **ours))
    assert f"| 1,000 | {summary} |" in programs.notes(made)
    assert line in programs.every(made).splitlines()[-1]


def side(name: str, taken: float = 1, score: float = 0.5, why: str = "") -> Cell:
    seconds = {"fit": [taken / 2] * 5, "predict": [taken / 2] * 5}
    return cell(name, seconds, case="scale 1000", score=score, why=why)


@pytest.mark.parametrize(
    ("taken", "said"), [(1.2, "1.20× slower | scale"), (1.1, "1.10× slower | none")]
)
def test_unchanged_programs_that_are_slower_are_named(taken: float, said: str) -> None:
    made = results(side(programs.PLAIN), side(programs.OURS), side(programs.ACCEL, taken, score=2))
    assert f"| 1,000 | 1 | as fast | 0 | 0 | {said} | 1 |" in programs.notes(made)


def test_the_figure_has_a_dot_and_a_line_at_the_speed_of_a_program() -> None:
    def timed(name: str, case: str, taken: Sequence[float]) -> Cell:
        return cell(name, {"fit": taken, "predict": [0.0] * 5}, case=case, score=1)

    cells = [
        timed(name, f"scale {rows}", taken)
        for rows, ours in ((1_000, [1.0, 1, 1, 1, 1]), (100_000, [4.0, 4, 4, 4, 2]))
        for name, taken in ((programs.PLAIN, [4.0] * 5), (programs.OURS, ours))
    ]
    cases = [
        record.Case(name=f"scale {rows}", title="scale", facts={"rows": rows})
        for rows in (1_000, 100_000)
    ]
    drawn = figure.speeds(replace_fields(results(*cells), cases=cases))
    assert all(f">{text}<" in drawn for text in ("scale", "1,000 rows", "100,000 rows", "4×"))
    lines = [
        [float(x) for x in re.findall(r"[ML] ([\d.]+)", path)]
        for path in re.findall(r'<g id="LineCollection_\d">\s*<path d="([^"]*)"', drawn)
    ]
    found = (re.search(rf'<use [^>]*x="([\d.]+)"[^>]*{hue}', drawn) for hue in figure.COLOURS[:2])
    dots = [float(dot[1]) for dot in found if dot]
    assert lines[0] == pytest.approx([dots[0]] * 2, abs=0.01), "it took as long each time"
    assert min(lines[1]) == pytest.approx(dots[1], abs=0.01)
    # From as fast to twice as fast: half of the way to four times as fast.
    assert max(lines[1]) - dots[1] == pytest.approx((dots[0] - dots[1]) / 2, rel=0.01)


def test_plain_programs_with_one_blas_thread_stand_beside_ours() -> None:
    taken = {programs.PLAIN: 0.004, programs.ONE: 0.002, programs.OURS: 0.001}
    cells = [
        cell(name, {"fit": [each] * 5, "predict": [0.0] * 5}, case=case, score=1)
        for case in ("pca 100000", "scale 100000")
        for name, each in taken.items()
    ]
    shown = programs.threads(results(*cells, facts={"rows": programs.MIDDLE})).splitlines()
    assert shown[2:] == ["| pca | 4.0 | 2.0 | 1.0 | 2.00× faster (2.00–2.00) |"]
    del cells[1]
    shown = programs.threads(results(*cells, facts={"rows": programs.MIDDLE})).splitlines()
    assert "| 4.0 | – | 1.0 | 4.0× faster" in shown[-1]


def test_the_growth_is_the_power_of_the_rows() -> None:
    sizes = {1: (1.0, 0.5), 100: (1.0, 0.5), 10_000: (100.0, 5.0)}
    cells = [
        cell(name, {"read": [each] * 5, "fit": [0.0] * 5, "predict": [0.0] * 5}, case=f"a {rows}")
        for rows, taken in sizes.items()
        for name, each in zip((growth.PREPROCESSING, growth.WHOLE), taken, strict=True)
    ]
    memory = {"table": 400, "read": 1_000, "peak": 3_100, "matrix": 2_000}
    first = Run(seconds={}, bytes=memory)
    made = results(*(replace_fields(each, warmup=first) for each in cells))
    cases = [replace_fields(each, facts={"rows": int(each.name[2:])}) for each in made.cases]
    made = replace_fields(made, cases=cases)
    assert growth.slope(made, growth.PREPROCESSING) == pytest.approx(0.5)
    assert growth.slope(made, growth.PREPROCESSING, last=2) == pytest.approx(1.0)
    text = growth.notes(made)
    assert "| 10,000 | 10000.00 | 500.00 |" in text
    assert "to the power of 0.50 and 0.25 (target: ≤ 1.0)" in text
    assert "no longer count, of 1.00 and 0.50." in text
    assert "takes 25% of the table's memory beside its matrix" in text


def test_predictions_over_http_are_shown_where_they_were_measured() -> None:
    taken = {"http p50": 0.01, "http p99": 0.02, "process p50": 0.005, "process p99": 0.006}
    plain, served = (
        prediction.requests(results(cell("loaded", {"predict": [1.0]}, **values)))
        for values in ({}, taken)
    )
    line = "- one: 10.00 (p99: 20.00) ms over HTTP, 5.00 (p99: 6.00) ms in process"
    assert (plain, served.splitlines()[-1]) == ("", line)


def files_cell(variant: str, seconds: float, score: float) -> Cell:
    """Return the cell of a variant that takes so long from a file of either format."""
    phases = ("read", "fit", "predict")
    taken = {f"{kind} {phase}": [seconds / 4] * 5 for kind in files.FORMATS for phase in phases}
    taken |= {f"{kind} read": [seconds / 2] * 5 for kind in files.FORMATS}
    taken |= {f"{kind} estimator": [seconds / 5] * 5 for kind in files.FORMATS}
    made = cell(variant, taken, case="pca 1000", csv=score, parquet=score)
    peaks = {files.PEAK: round(seconds * 1e8)}
    return replace_fields(made, runs=[replace_fields(run, bytes=peaks) for run in made.runs])


@pytest.mark.parametrize(
    ("others", "said", "row"),
    [
        ([("a", 3.0, 0.8), ("b", 2.0, 0.8)], "2.00× faster", "2.00× faster (2.00–2.00) | b"),
        ([("a", 3.0, 0.8), ("b", 2.0, 0.79)], "3.0× faster", "3.0× faster (3.0–3.0) | a"),
        ([("a", 0.5, 0.9)], "2.00× slower", "2.00× slower (2.00–2.00) | a"),
    ],
)
def test_ours_is_held_against_the_fastest_of_those_that_predict_as_well(
    others: list[tuple[str, float, float]], said: str, row: str
) -> None:
    made = results(*(files_cell(*each) for each in [*others, (files.OURS, 1.0, 0.8)]))
    met, slower = ("0 of 1", 1) if "slower" in said else ("1 of 1", 0)
    assert f"| 1,000 | CSV | {said} | {met} | {slower} |" in files.notes(made)
    lines = files.every(made).splitlines()
    assert f"| pca | 1,000 | CSV | {row} | 20% |" in lines
    assert any(line.endswith("| 1.000 (0.500) |") for line in lines)
    assert any(line.endswith("| 0.800 |") for line in lines)
    assert lines[-1].startswith("| pca | 1,000 | ")
    assert lines[-1].endswith(" | 100 |")
    assert f"1,000 rows: {1 / others[0][1]:.2f} to {1 / others[0][1]:.2f} " in files.notes(made)


def test_a_variant_that_failed_is_not_the_fastest() -> None:
    broken = cell("a", {}, case="pca 1000", why="no module")
    made = results(broken, files_cell(files.OURS, 1.0, 0.8))
    assert files.notes(made).count("|\n") == 2, "there is none to compare with"
    assert "at 1,000 rows: – (target: ≤ 1.1)" in files.notes(made)
    assert "| CSV | – | – | 20% |" in files.every(made)
    assert "| CSV | – | 1.000 (0.500) |" in files.every(made)


# Records and documents.


@pytest.mark.parametrize("name", CLAIMS)
def test_every_record_that_is_kept_is_that_of_its_claim(name: str) -> None:
    path = docs.ROOT / f"docs/results/{name}-cpu/results.json"
    if not path.exists():
        assert f"`make bench-{name}` measures it" in docs.claimed(name)
        pytest.skip("not measured yet")
    kept, claim = record.load(path), CLAIMS[name]
    assert (kept.claim, kept.settings.keys()) == (name, claim.settings.keys())
    assert {each.name for each in kept.variants} >= {each.name for each in claim.variants}
    named = [{each.name, each.title, each.name.partition(", ")[0]} for each in kept.cases]
    assert all(each & {*claim.names} for each in named)
