"""The proof on a GPU, rehearsed on the CPU: its stages run, and its verdicts follow the records."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import psutil
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, TargetEncoder

from pipeline import CalendarFeatures
from pipeline.benchmark import results, task
from pipeline.optional import available
from pipeline.system import environment
from tasks import synthetic
from tests.benchmark import fixtures
from tests.contract import standins
from tools.gpu_proof import __main__ as proof
from tools.gpu_proof import bandwidth, copies, driver, duel, probe, process, record, verdicts
from tools.gpu_proof.hand import ByHand
from tools.gpu_proof.stages import SLOW_TESTS, STAGES, Ask, Step

ROWS = 20_000
LETTERS = list("abcdefgh")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return task.load("synthetic").prepare(tmp_path_factory.mktemp("home"), rows=ROWS)


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    (tmp_path / "tests").mkdir()
    return Ask(tmp_path, "cuda", (ROWS,), 2)


def write(ask: Ask, name: str, found: Any) -> None:
    ask.file(name).write_bytes(msgspec.json.encode(found))


def found(ask: Ask, ran: Any = ()) -> dict[str, verdicts.Verdict]:
    return {verdict.what: verdict for verdict in verdicts.verdicts(ask, dict(ran))}


# The programs written by hand.


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", verdicts.SPECS)
def test_the_program_by_hand_is_as_good_as_ours_and_as_scikit_learn(
    table: Path, pipeline: str
) -> None:
    runs = duel.duel(pipeline, table, ROWS, "cpu", repeats=1)
    what = task.load("synthetic")
    job = duel.task.Job(task=what.name, pipeline=pipeline, variant="reference", path=table)
    plain = duel.measure.measure_once(what, what.pipeline(pipeline, 0), job)
    wanted = duel.measure.judge_outcome(what, plain)["roc_auc"]
    assert runs.auc_hand == pytest.approx(runs.auc_ours, abs=0.005)
    assert runs.auc_hand == pytest.approx(wanted, abs=0.005)
    assert len(runs.ours) == len(runs.hand) == len(runs.stages) == 1


def test_a_duel_that_is_interrupted_keeps_its_runs(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def turns(*_: Any) -> Any:
        yield "ours"
        raise KeyboardInterrupt

    monkeypatch.setattr(duel, "turns", turns)
    monkeypatch.setattr(ByHand, "run", lambda *_: ([0, 1], [0.2, 0.8]))
    small = task.load("synthetic").prepare(ask.out, rows=2_000)
    runs = duel.duel("boosting", small, 2_000, "cpu", repeats=3)
    assert (len(runs.ours), len(runs.stages), runs.hand) == (1, 1, [])
    write(ask, "hand-boosting.json", runs)
    assert found(ask)["boosting, our time in that of the program by hand"].met is None


def rows(share_missing: float) -> tuple[pd.Series, np.ndarray]:
    rng = np.random.default_rng(0)
    texts = pd.Series(rng.choice(LETTERS, 400))
    y = (rng.random(400) < texts.map(dict(zip(LETTERS, np.linspace(0, 1, 8), strict=True)))) * 1
    return texts.mask(rng.random(400) < share_missing), y.to_numpy()


@pytest.mark.parametrize(("share", "others"), [(0, ["a", "h", "unknown"]), (0.3, ["a", "h", None])])
def test_rates_by_hand_are_those_of_scikit_learn(share: float, others: list[Any]) -> None:
    texts, y = rows(share)
    new = pd.Series(others, dtype=texts.dtype)
    _, (rates,) = ByHand("cpu", 0)._rates(texts, new, y, np.arange(400) % 5)
    wanted = TargetEncoder().fit(texts.to_frame(), y).transform(new.to_frame())
    np.testing.assert_allclose(rates, wanted[:, 0], atol=1e-12)


@pytest.mark.parametrize("pipeline", verdicts.SPECS)
def test_the_program_by_hand_makes_the_same_matrices_on_a_gpu(
    table: Path, pipeline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = pd.read_parquet(table, columns=[*synthetic.TASK.features, synthetic.TASK.target])[:900]
    # As cuDF reads it: dictionaries of Parquet as text.
    here = here.astype(dict.fromkeys(synthetic.FEW + synthetic.MANY, "str"))
    assert here[synthetic.FEW].isna().any(axis=None), "no missing text"
    monkeypatch.setattr(ByHand, "_fold", lambda self, y: self.xp.arange(len(y)) % 5)
    _, *wanted = getattr(ByHand("cpu", 0), f"_{pipeline}")(
        *by_hand(ByHand("cpu", 0), here, lambda X: X)
    )
    standins.install(monkeypatch)
    import cudf

    hand = ByHand("cuda", 0)
    _, *made = getattr(hand, f"_{pipeline}")(*by_hand(hand, here, cudf.from_pandas))
    for found, expected in zip(made, wanted, strict=True):
        np.testing.assert_allclose(found.get(), expected, rtol=1e-6, atol=1e-6)


def by_hand(hand: ByHand, X: pd.DataFrame, put: Any) -> tuple[Any, Any, Any]:
    # Two tables, as they are read: text of a slice is another matter in cuDF.
    train, test = put(X[:600]), put(X[600:])
    return train, test, hand._values(train[synthetic.TASK.target])


def stacked(columns: list[np.ndarray]) -> np.ndarray:
    return np.stack(columns, axis=1)


def test_curves_categories_and_weekends_by_hand_are_those_of_scikit_learn() -> None:
    hand, rng = ByHand("cpu", 0), np.random.default_rng(0)
    number = pd.DataFrame({"x": rng.normal(size=300)}).mask(rng.random((300, 1)) < 0.2)
    day = pd.DataFrame({"x": pd.date_range("2024-01-01", periods=300)}).mask(number.isna())
    text = rows(0.3)[0][:300].to_frame("x")
    spline = make_pipeline(SimpleImputer(), SplineTransformer(n_knots=4, degree=1))
    weekend = make_pipeline(CalendarFeatures(["is_weekend"]), SimpleImputer())
    for both, way, X in (
        (hand._curves(number["x"][:200], number["x"]), spline, number),
        (hand._one_hot(text["x"][:200], text["x"]), OneHotEncoder(sparse_output=False), text),
        (hand._weekend(day["x"][:200].dt.weekday, day["x"].dt.weekday), weekend, day),
    ):
        wanted = way.fit(X[:200]).transform(X)
        for made, expected in zip(map(stacked, both), (wanted[:200], wanted), strict=True):
            # By hand the missing come first; scikit-learn has them last.
            turned = np.roll(made, -1, axis=1) if X is text else made
            np.testing.assert_allclose(turned, expected, atol=1e-6)


# The driver's count.


class OneRegistration(ModuleType):
    """CUPTI as far as we use it; it takes its callbacks once, and counts what is enabled."""

    ActivityKind = SimpleNamespace(MEMCPY=1)

    def __init__(self) -> None:
        super().__init__("cupti.cupti")
        self.completed, self.waiting, self.enabled = None, [], False

    def ActivityMemcpyKind(self, kind: int) -> Any:  # noqa: N802
        return SimpleNamespace(name="DTOH")

    def activity_register_callbacks(self, requested: Any, completed: Any) -> None:
        assert self.completed is None, "registered twice"
        self.completed = completed

    def activity_enable(self, kind: int) -> None:
        self.enabled = True

    def activity_disable(self, kind: int) -> None:
        self.enabled = False

    def activity_flush_all(self, flag: int) -> None:
        self.completed(self.waiting)
        self.waiting = []

    def copy(self, size: int) -> None:
        if self.enabled:
            self.waiting.append(SimpleNamespace(kind=1, copy_kind=2, bytes=size))


def test_copies_are_counted_each_time_and_blocks_may_hold_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cupti, cupy = OneRegistration(), ModuleType("cupy")
    cupy.cuda = SimpleNamespace(Device=lambda: SimpleNamespace(synchronize=lambda: None))
    for module in (ModuleType("cupti"), cupti, cupy):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    driver._cupti.cache_clear()
    with driver.copies() as first:
        cupti.copy(5)
    cupti.copy(100)
    with driver.copies() as outer:
        cupti.copy(7)
        with driver.copies() as inner:
            cupti.copy(11)
        cupti.copy(13)
    driver._cupti.cache_clear()
    assert [counted["DTOH"] for counted in (first, outer, inner)] == [5, 31, 11]


# Processes, shares of the time, and going on.


def script(text: str) -> list[str]:
    return ["python", "-c", text]


def test_children_are_told_to_use_the_array_api(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b") as log:
        shown = "import os; print(os.environ['SCIPY_ARRAY_API'])"
        assert process.run(script(shown), log, 60) == 0
        log.seek(0)
        assert log.read() == b"1\n"


@pytest.mark.slow
def test_a_program_whose_time_is_over_writes_what_it_has_and_takes_its_children_along(
    tmp_path: Path,
) -> None:
    text = """
import subprocess, sys, time
quiet = subprocess.DEVNULL
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stderr=quiet)
print(child.pid, flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("written")
"""
    with (tmp_path / "log").open("w+b") as log:
        assert process.run(script(text), log, 3) == process.OVER
        log.seek(0)
        pid, written = log.read().split()
    assert written == b"written"
    end = time.monotonic() + 30
    while psutil.pid_exists(int(pid)) and psutil.Process(int(pid)).status() != "zombie":
        assert time.monotonic() < end, "its child runs on"
        time.sleep(0.1)


SLEEPS = {
    "long": lambda ask: iter([Step(script("import time; time.sleep(60)"), 2)]),
    "short": lambda ask: iter([Step(script(f"open({str(ask.file('written'))!r}, 'w')"), 1)]),
    "bad": lambda ask: iter([Step(script("raise SystemExit(3)"), 1)]),
}


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch, ask: Ask) -> None:
    for name, steps in SLEEPS.items():
        monkeypatch.setitem(STAGES, name, steps)
        monkeypatch.setitem(record.CODE, name, [str(ask.out / "code")])
    (ask.out / "code").mkdir()


@pytest.mark.slow
@pytest.mark.usefixtures("sleeps")
def test_a_stage_that_takes_too_long_leaves_the_others_their_share(ask: Ask) -> None:
    start = time.monotonic()
    ran = proof.prove(ask, list(SLEEPS), minutes=0.2)
    assert [(each.stage, each.code) for each in ran] == [
        ("long", process.OVER), ("short", 0), ("bad", 3),
    ]  # fmt: skip
    assert 5 < ran[0].seconds < 7
    assert ask.file("written").exists()
    assert time.monotonic() - start < 13


@pytest.mark.slow
@pytest.mark.usefixtures("sleeps")
def test_the_next_call_goes_on_and_what_failed_runs_alone(ask: Ask) -> None:
    def stages(**how: bool) -> list[str]:
        return [ran.stage for ran in proof.prove(ask, list(SLEEPS), minutes=0.05, **how)]

    assert stages() == ["long", "short", "bad"]
    assert stages() == ["long"]
    assert stages(failed=True) == ["bad"]
    (ask.out / "code" / "changed.py").touch()
    assert stages() == ["long", "short", "bad"]
    kept = record.load(ask.file("proof.json"))
    assert [each.stage for each in kept.ran] == ["long", "short", "bad"]
    changed = msgspec.structs.replace(kept, rehearsal=True)
    ask.file("proof.json").write_bytes(msgspec.json.encode(changed))
    assert stages() == ["long", "short", "bad"], "a rehearsal is no proof"


def ran(stage: str, command: list[str], code: int, source: str | None = None) -> Any:
    now = record.source(stage) if source is None else source
    return record.Ran(stage=stage, command=command, seconds=1, code=code, source=now)


def test_of_tests_that_ran_to_their_end_only_the_failed_run_again(ask: Ask) -> None:
    commands = [step.command for step in STAGES["tests"](ask)]
    codes = [1, 2, -11, process.OVER]
    before = {str(c): ran("tests", c, code) for c, code in zip(commands, codes, strict=False)}
    due = list(proof.due(ask, ["tests"], before, failed=True))
    assert [each.command for each in due] == commands[:3]
    again = str(Path(commands[0][-1]).with_suffix(".again.xml"))
    assert due[0].options == ["--last-failed", "--junitxml", again]
    assert due[1].options == due[2].options == []
    assert [each.command for each in proof.due(ask, ["tests"], before, failed=False)] == commands[
        3:
    ]


def test_fast_tests_come_first_and_warnings_fail_on_request(ask: Ask) -> None:
    files = [Path(step.command[3]).stem for step in STAGES["tests"](ask)]
    assert files[-len(SLOW_TESTS) :] == list(SLOW_TESTS)
    assert sorted(files) == sorted(path.stem for path in Path("tests/gpu").glob("test_*.py"))
    strict = Ask(ask.out, "cuda", (ROWS,), 3, strict=True)
    for how, lenient in ((ask, True), (strict, False)):
        assert all(("-W" in step.command) is lenient for step in STAGES["tests"](how))


def test_every_command_writes_where_it_is_asked_to(ask: Ask) -> None:
    for name, steps in STAGES.items():
        for command, share in steps(ask):
            assert share > 0, name
            assert "doctor" in command or any(str(ask.out) in word for word in command), command


# The probe.


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {
        "good": "[1.0, float('nan')]",
        "bad": "1 / 0",
        "dead": "__import__('os').abort()",
        "long": "__import__('time').sleep(60)",
    }
    known = {name: {"expected": "-", "ask": f"answer = {what}"} for name, what in asked.items()}
    monkeypatch.setattr(probe, "QUESTIONS", known)
    monkeypatch.setattr(probe, "MOST_SECONDS", 3.0)

    def run(words: list[str], output: Any, seconds: float) -> int:
        text = f"from tools.gpu_proof import probe; probe.QUESTIONS = {known}"
        shown = f"{text}; print(probe.MARK + repr(probe.ask({words[-1]!r})))"
        return RUN(script(shown), output, seconds)

    monkeypatch.setattr(process, "run", run)


RUN = process.run


@pytest.mark.slow
@pytest.mark.usefixtures("questions")
def test_a_question_that_ends_badly_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe.gpu, "why_unusable", lambda *_: "")
    monkeypatch.setattr(sys, "argv", ["probe", "--out", str(tmp_path / "probe.json")])
    probe.main()
    kept = json.loads((tmp_path / "probe.json").read_text())
    answers = {each["question"]: each for each in kept["answers"]}
    assert answers["good"]["found"] == "[1.0, nan]"
    assert "ZeroDivisionError" in answers["bad"]["why"]
    assert "exit code -6" in answers["dead"]["why"]
    assert "its time was over" in answers["long"]["why"]
    assert kept["packages"]["numpy"] == np.__version__
    assert kept["machine"]["cores"] > 0


def test_without_a_gpu_every_question_says_that_it_could_not_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    answers = list(probe.answers())
    assert len(answers) == len(probe.QUESTIONS) > 15
    assert all(each["why"].startswith("could not be asked: ") for each in answers)


NO_DRIVER = ("CUDARuntimeError", "DynamicLibNotFound", "DeviceUnavailable", "NVMLError", "driver")


@pytest.mark.contract_live
@pytest.mark.skipif(not available("cuml"), reason="RAPIDS is not installed")
@pytest.mark.parametrize("name", probe.QUESTIONS)
def test_nothing_but_a_driver_stops_a_question(name: str) -> None:
    """Nothing in it is unknown to the installed packages."""
    _, why = probe.asked(name)
    assert not why or any(error in why for error in NO_DRIVER), why


# The verdicts.


def test_nothing_is_said_of_what_was_not_run(ask: Ask) -> None:
    assert {verdict.met for verdict in found(ask).values()} == {None}
    assert all(v.found.startswith(verdicts.NOT_RUN) for v in found(ask).values())


def suite(path: Path, hour: int, **outcomes: str) -> None:
    children = {"passed": "", "failed": "<failure/>", "skipped": "<skipped/>"}
    cases = "".join(
        f'<testcase classname="c" name="{name}">{children[outcome]}</testcase>'
        for name, outcome in outcomes.items()
    )
    at = f'timestamp="2026-11-21T{hour:02}:00:00.5+00:00"'
    path.write_text(f"<testsuites><testsuite {at}>{cases}</testsuite></testsuites>")


def test_failing_tests_are_counted_and_those_that_ran_again_once(ask: Ask) -> None:
    commands = [step.command for step in STAGES["tests"](ask)]
    every = {str(c): ran("tests", c, 0) for c in commands}
    first = Path(commands[0][-1])

    def said(known: Any) -> tuple[str, bool | None]:
        verdict = found(ask, known)["failing `gpu` tests"]
        return verdict.found, verdict.met

    suite(first, 1, a="skipped", b="skipped")
    assert said(every) == ("0 of 0, 2 skipped", None)
    suite(first, 1, a="passed", b="failed", c="skipped")
    assert said(every) == ("1 of 2, 1 skipped", False)
    again = first.with_suffix(".again.xml")
    suite(again, 2, b="passed")
    assert said(every) == ("0 of 2, 1 skipped", True)
    died = {**every, str(commands[1]): ran("tests", commands[1], -11)}
    missing = f"1 of {len(commands)} files not run to their end"
    assert said(died) == (f"0 of 2, 1 skipped, {missing}", False)
    suite(first, 3, a="passed", b="failed", c="skipped")
    assert said(every) == ("1 of 2, 1 skipped", False), "an older run does not count"


@pytest.mark.parametrize(
    ("counted", "said", "met"),
    [
        (1_000, "0.000", True),
        (1_999, "0.999", True),
        (2_000, "1.000", False),
        (900, "-0.100", False),
        (None, verdicts.NOT_RUN, None),
    ],
)
def test_less_than_a_byte_a_row_may_come_to_the_host_unbooked(
    ask: Ask, counted: int | None, said: str, met: bool | None
) -> None:
    moved = copies.Moved(pipeline="s", call="fit", rows=1_000, booked=1_000, counted=counted)
    write(ask, "copies.json", [moved])
    verdict = found(ask)["bytes a row to the host that are not booked"]
    assert (verdict.found, verdict.met) == (said, met)


@pytest.mark.slow
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_program_that_is_refused_is_named_and_does_not_stop_the_others(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    path = task.load("flights").prepare(ask.out)
    fit = copies.Accelerated.fit

    def refuse(self: Any, X: Any, y: Any) -> Any:
        if "logistic" in str(self.estimator).lower():
            raise error("no such luck")
        return fit(self, X, y)

    monkeypatch.setattr(copies.Accelerated, "fit", refuse)
    made = copies.moved("cpu", path, 2_000, count=False)
    others = [
        (pipeline, call) for pipeline in ("forest", "boosting") for call in ("fit", "predict_proba")
    ]
    wanted = [("logistic", ""), *(others if error is ValueError else [])]
    assert [(each.pipeline, each.call) for each in made] == wanted
    assert {each.counted for each in made} == {None}
    write(ask, "strict.json", made)
    verdict = found(ask)["programs of the flights that a run with `host_bytes=0` refuses"]
    assert (verdict.met, "no such luck" in verdict.found) == (False, True)


def test_speeds_are_those_on_the_longest_table_that_was_compared(tmp_path: Path) -> None:
    ask = Ask(tmp_path, "cuda", (100, 200, 300), 3)
    assert found(ask)["end to end"].found == verdicts.NOT_RUN
    for rows in (100, 200):
        record_ = fixtures.with_gpu()
        of_rows = msgspec.structs.replace(record_.task, rows_train=rows, rows_test=0)
        ask.synthetic(rows).mkdir()
        changed = msgspec.structs.replace(record_, task=of_rows)
        ask.file(f"synthetic-{rows}/results.json").write_bytes(results.dumps(changed))
    # The made-up GPU is 1.3 times as slow.
    compared = found(ask)["logistic, 200 rows, against reference"]
    assert (compared.found, compared.met) == ("0.8×", False)
    assert found(ask)["logistic, 200 rows, against accel"].met is None


def runs(ours: float) -> duel.Runs:
    return duel.Runs(
        pipeline="boosting", rows=ROWS, ours=[ours] * 5, hand=[1.0] * 5, auc_ours=0.8, auc_hand=0.8,
        stages=[{"read": 0.5, "fit": 1.0}] * 3, least_bytes={"read": 10**9},
    )  # fmt: skip


def test_our_time_is_held_to_that_of_the_program_by_hand(ask: Ask) -> None:
    for seconds, met in ((1.05, True), (1.2, False)):
        write(ask, "hand-boosting.json", runs(seconds))
        verdict = found(ask)["boosting, our time in that of the program by hand"]
        assert verdict.met is met
        assert verdict.found.startswith(f"{seconds:.2f}, ")


def test_a_copy_the_stages_and_the_times_are_told(ask: Ask) -> None:
    assert bandwidth.copied("cpu", 1 << 20).bytes_a_second > 1e6
    write(ask, "bandwidth.json", bandwidth.Bandwidth(size=10**9, seconds=[1.0, 0.5]))
    write(ask, "hand-boosting.json", runs(1.0))
    known = {"a": ran("copies", ["a"], process.OVER)}
    text = verdicts.report(ask, environment.machine({}, 0.0), known)
    assert "| boosting, read, 20,000 rows | 2.00 | 50.0% |" in text
    assert "| copies | 1 | 1 | its time was over |" in text


# The command.


def test_a_rehearsal_runs_the_stages_and_says_that_it_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = f"--rehearse --stages probe,bandwidth --rows {ROWS} --out {out}"
    monkeypatch.setattr(sys, "argv", ["gpu-proof", *words.split()])
    assert proof.main() == 0
    kept = record.load(out / "proof.json")
    assert kept.rehearsal
    assert [(ran.stage, ran.code) for ran in kept.ran] == [
        ("probe", 0), ("probe", 0), ("bandwidth", 0),
    ]  # fmt: skip
    assert "proves nothing of a GPU" in capsys.readouterr().out
    assert (out / "probe.log").stat().st_size > 100
    assert (out / "probe.json").exists()


def test_without_a_gpu_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(sys, "argv", ["gpu-proof", "--out", str(tmp_path / "out")])
    assert proof.main() == 69
    assert "[gpu-proof]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
