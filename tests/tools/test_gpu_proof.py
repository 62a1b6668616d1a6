"""The proof on a GPU, rehearsed on the CPU: commands run, and verdicts follow the records."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import psutil
import pytest

from pipeline.benchmark import results, task
from pipeline.optional import available
from tasks import synthetic
from tests.benchmark import fixtures
from tests.contract import standins
from tests.gpu import conftest
from tools.gpu_proof import __main__ as proof
from tools.gpu_proof import measure, outcomes, report
from tools.gpu_proof.hand import ByHand

ROWS = 20_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return task.load("synthetic").prepare(tmp_path_factory.mktemp("home"), rows=ROWS)


@pytest.fixture
def given(tmp_path: Path) -> Namespace:
    """What is asked of a proof: nothing special."""
    return Namespace(
        out=tmp_path, device="cpu", rows=[ROWS], repeats=3, minutes=9.0, failed=False, strict=False,
        rehearse=False, stages=["import", "tests"], code="now",
    )  # fmt: skip


# The programs written by hand.


@pytest.mark.parametrize("pipeline", proof.PROGRAMS)
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
    measure._cupti.cache_clear()
    with measure.copies() as first:
        cupti.copy(5)
    cupti.copy(100)
    with measure.copies() as outer:
        cupti.copy(7)
        with measure.copies() as inner:
            cupti.copy(11)
        cupti.copy(13)
    measure._cupti.cache_clear()
    assert [counted["DTOH"] for counted in (first, outer, inner)] == [5, 31, 11]


# The commands.


def step(text: str, stage: str = "import") -> proof.Step:
    return proof.Step(stage, ["python", "-c", text])


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
        assert proof.run_once(step(text).words, log, 3) == report.OVER
        log.seek(0)
        pid, written = log.read().split()
    assert written == b"written"
    end = time.monotonic() + 30
    while psutil.pid_exists(int(pid)) and psutil.Process(int(pid)).status() != "zombie":
        assert time.monotonic() < end, "its child runs on"
        time.sleep(0.1)


def test_a_program_is_not_told_to_use_the_array_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SCIPY_ARRAY_API", raising=False)
    text = "import os; raise SystemExit('SCIPY_ARRAY_API' in os.environ)"
    with (tmp_path / "log").open("wb") as log:
        assert proof.run_once(step(text).words, log, 60) == 0


def test_a_call_goes_on_where_the_last_one_ended(
    given: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [proof.Step("import", [name]) for name in ("good", "over", "bad", "dead")]
    codes = {"good": 0, "over": report.OVER, "bad": 1, "dead": -11}
    ran: list[tuple[str, bool]] = []

    def run(words: list[str], log: Any, seconds: float) -> int:
        ran.append((words[0], seconds >= proof.FLOOR))
        return codes[words[0]]

    monkeypatch.setattr(proof, "steps", lambda given: iter(made))
    monkeypatch.setattr(proof, "run_once", run)

    def names(**asked: Any) -> list[str]:
        ran.clear()
        proof.prove(Namespace(**{**vars(given), **asked}))
        assert all(long for _, long in ran)
        return [name for name, _ in ran]

    assert names(minutes=0.9) == [], "less than the least that a command gets"
    assert names() == ["good", "over", "bad", "dead"]
    assert names() == ["over"]
    assert names(failed=True) == ["bad", "dead"]
    assert names(code="new") == ["good", "bad", "dead", "over"], "what took too long comes last"
    assert names(code="new", stages=["probe"]) == []
    codes |= {"over": 0, "bad": 0}
    assert names(code="new", failed=True) == ["bad", "dead"]
    assert names(code="new") == ["over"]
    assert names(code="new", failed=True) == ["dead"]


def test_what_matters_most_comes_first_and_warnings_fail_on_request(given: Namespace) -> None:
    made = list(proof.steps(given))
    stages = list(dict.fromkeys(each.stage for each in made))
    assert stages == [
        "import", "tests", "strict", "probe", "copies", "hand", "bandwidth", "flights", "synthetic",
        "profile",
    ]  # fmt: skip
    tests = [each.words for each in made if each.stage == "tests"]
    files = [word for words in tests for word in words if word.endswith(".py")]
    assert files[:4] == [f"tests/gpu/test_{name}.py" for name in proof.FIRST]
    assert files[-1] == "tests/gpu/test_clusters.py"
    assert sorted(files) == sorted(map(str, Path("tests/gpu").glob("test_*.py")))
    given.strict = True
    strict = [each.words for each in proof.steps(given) if each.stage == "tests"]
    assert all("-W" in words for words in tests)
    assert not any("-W" in words for words in strict)
    for each in made:
        assert "doctor" in each.words or each.stage == "tests" or str(given.out) in each.key


def test_the_tests_are_passed_when_those_of_all_files_have_run(given: Namespace) -> None:
    def said(*lines: list[str]) -> tuple[str, bool | None]:
        text = "".join(json.dumps([*line, "now"]) + "\n" for line in lines)
        report.tests_file(given).write_text(text)
        return found_tests(given)

    every = [[f"{file}::test", "passed"] for file in map(str, Path("tests/gpu").glob("test_*.py"))]
    n = len(every)
    assert said(*every) == (f"0 of {n}, 0 skipped", True)
    assert said(*every[1:]) == (f"0 of {n - 1}, 0 skipped, not all have run", False)
    due = [every[0][0], "due"]
    assert said(*every, due) == (f"0 of {n - 1}, 0 skipped, not all have run", False)
    assert said(*every, due, [due[0], "begun"]) == (f"1 of {n}, 0 skipped", False)
    assert said([due[0], "skipped"]) == ("0 of 0, 1 skipped, not all have run", None)


TESTS = """
import os, pytest

def test_good(): pass
@pytest.mark.skip
def test_skipped(): pass
@pytest.fixture
def late():
    yield
    assert not os.path.exists("broken")
def test_late(late): pass
def test_dead():
    if os.path.exists("broken"):
        os._exit(9)
def test_after(): pass
def test_dead_too(): test_dead()
def test_last(): pass
"""


@pytest.mark.slow
def test_a_test_that_ends_its_process_is_named_and_leaves_the_others(
    given: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "broken").touch()
    words = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_some.py"]
    monkeypatch.setattr(proof, "steps", lambda given: iter([proof.Step("tests", words)]))
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    monkeypatch.chdir(tmp_path)

    def found() -> dict[str, str]:
        known = outcomes.read(report.tests_file(given)).items()
        return {test.partition("::test_")[2]: outcome for test, (outcome, _) in known}

    assert proof.prove(given) == 1
    wanted = {
        "good": "passed",
        "skipped": "skipped",
        "late": "failed",
        "after": "passed",
        "last": "passed",
    }
    assert found() == {**wanted, "dead": "begun", "dead_too": "begun"}
    assert found_tests(given) == ("3 of 6, 1 skipped", False)
    assert proof.prove(given) == 0, "nothing is due"
    (tmp_path / "broken").unlink()
    given.failed, given.code = True, "mended"
    assert proof.prove(given) == 0
    assert found() == {**wanted, "late": "passed", "dead": "passed", "dead_too": "passed"}
    codes = {code for _, code in outcomes.read(report.tests_file(given)).values()}
    assert codes == {"now", "mended"}, "what passed is not run again"
    given.failed = False
    assert proof.prove(given) == 0
    codes = {code for _, code in outcomes.read(report.tests_file(given)).values()}
    assert codes == {"mended"}


def test_an_error_of_the_gpu_that_comes_late_ends_the_process_and_names_its_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def synchronize() -> None:
        raise RuntimeError("cudaErrorIllegalAddress")

    cupy: Any = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(Device=lambda: SimpleNamespace(synchronize=synchronize))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    request: Any = SimpleNamespace(session=SimpleNamespace(), node=SimpleNamespace(nodeid="::a"))
    with pytest.raises(RuntimeError, match="IllegalAddress"):
        conftest.synchronize(request)
    assert request.session.shouldstop == "the GPU failed in ::a: cudaErrorIllegalAddress"


# The probe.


@pytest.mark.slow
def test_questions_share_a_process_until_one_ends_it_and_answers_are_kept(
    given: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = "import os; answer = os.getpid()"
    asked: dict[str, dict[str, Any]] = {
        "first": {"ask": pid},
        "second": {"ask": f"{pid} "},
        "bad": {"ask": "1 / 0"},
        "dead": {"ask": "import os; os.abort()"},
        "long": {"ask": "import time; time.sleep(60)"},
        "after": {"ask": "answer = [1.0, float('nan')]"},
        "alone": {"ask": f"{pid}  ", "alone": True},
    }
    monkeypatch.setattr(measure, "QUESTIONS", asked)
    monkeypatch.setattr(measure, "MOST_SECONDS", 15.0)
    monkeypatch.setattr(measure.gpu, "why_unusable", lambda *_: "")
    given.out = given.out / "probe.json"

    def found() -> dict[str, str]:
        measure.probe(given)
        return {name: each["found"] for name, each in json.loads(given.out.read_text()).items()}

    first = found()
    assert first["first"] == first["second"] != first["alone"]
    assert first["bad"] == "RuntimeError: ZeroDivisionError: division by zero"
    assert first["dead"].startswith("BrokenProcessPool")
    assert first["long"].startswith("TimeoutError")
    assert first["after"] == "[1.0, nan]"
    asked["after"] = {"ask": "answer = 2"}
    assert found() == {**first, "after": "2"}


def test_without_a_gpu_no_question_is_asked(
    given: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    given.out = given.out / "probe.json"
    assert measure.probe(given) == 0
    assert not given.out.exists()
    names = list(measure.QUESTIONS)
    alone = [name for name, each in measure.QUESTIONS.items() if each.get("alone")]
    assert names[-len(alone) :] == alone
    assert all("killed_worker" in name for name in names[-2:])


NO_DRIVER = ("CUDARuntimeError", "DynamicLibNotFound", "DeviceUnavailable", "NVMLError", "driver")


@pytest.mark.contract_live
@pytest.mark.skipif(not available("cuml"), reason="RAPIDS is not installed")
@pytest.mark.parametrize("name", measure.QUESTIONS)
def test_nothing_but_a_driver_stops_a_question(name: str) -> None:
    """Nothing in it is unknown to the installed packages."""
    why = ""
    try:
        measure._answer(measure.QUESTIONS[name]["ask"])
    except RuntimeError as error:
        why = str(error)
    assert not why or any(error in why for error in NO_DRIVER), why


# The verdicts.


def found_tests(given: Namespace) -> tuple[str, bool | None]:
    return found(given)["failing `gpu` tests"]


def found(given: Namespace) -> dict[str, tuple[str, bool | None]]:
    return {what: (text, met) for what, _, text, met in report.verdicts(given)}


def test_nothing_is_said_of_what_was_not_run(given: Namespace) -> None:
    assert {met for _, met in found(given).values()} == {None}
    assert "not run" in "\n".join(report.lines(given, {}))


@pytest.mark.parametrize(
    ("counted", "said", "met"),
    [
        (1_999, "0.999", True),
        (2_000, "1.000", False),
        (900, "-0.100", False),
        (None, "", None),
    ],
)
def test_less_than_a_byte_a_row_may_come_to_the_host_unbooked(
    given: Namespace, counted: int | None, said: str, met: bool | None
) -> None:
    what, refused = (
        "bytes a row to the host that are not booked",
        "calls refused with `host_bytes=0`",
    )
    moved = {"a, fit": {"rows": 1_000, "booked": 1_000, "counted": counted}}
    measure.write(given.out / "copies.json", moved)
    assert (found(given)[what], found(given)[refused]) == ((said, met), ("0", True))
    measure.write(given.out / "copies.json", {**moved, "b, fit": {}})
    assert (found(given)[what], found(given)[refused]) == ((said, None), ("0", None)), "not all"
    measure.write(given.out / "copies.json", {**moved, "b, fit": {"why": "no | luck"}})
    assert found(given)[refused] == ("1; b, fit: no   luck", False)


def test_speeds_are_those_on_the_longest_table_that_was_compared(given: Namespace) -> None:
    given.device, given.rows = "cuda", [100, 200, 300]
    for rows in (100, 200):
        record = fixtures.with_gpu()
        of_rows = msgspec.structs.replace(record.task, rows_train=rows, rows_test=0)
        (given.out / f"synthetic-{rows}").mkdir()
        changed = msgspec.structs.replace(record, task=of_rows)
        (given.out / f"synthetic-{rows}/results.json").write_bytes(results.dumps(changed))
    # The made-up GPU is 1.3 times as slow.
    assert found(given)["logistic, 200 rows, against reference"] == ("0.8×", False)
    assert found(given)["logistic, 200 rows, against accel"][1] is None
    assert not [what for what in found(given) if "100 rows" in what]


@pytest.mark.parametrize(("ours", "met"), [([1.05] * 3, True), ([1.2] * 3, False), ([], None)])
def test_our_time_is_held_to_that_by_hand_and_our_speed_to_that_of_a_copy(
    given: Namespace, ours: list[float], met: bool | None
) -> None:
    each = {
        "pipeline": "boosting", "rows": ROWS, "auc": {"ours": 0.8, "hand": 0.8},
        "seconds": {"ours": ours, "hand": [1.0] * 3}, "least_bytes": {"read": 10**9},
        "stages": [{"read": 0.5, "fit": 1.0}] * 3,
    }  # fmt: skip
    measure.write(given.out / "hand.json", [each])
    text, found_met = found(given)["boosting, our time in that by hand"]
    assert (text.endswith("AUC 0.8000 and 0.8000"), found_met) == (True, met)
    measure.write(given.out / "bandwidth.json", {"size": 10**9, "seconds": [1.0, 0.5]})
    assert "| boosting, read, 20,000 rows | 2.00 | 50.0% |" in report.lines(given, {})


# The command.


@pytest.mark.slow
def test_a_rehearsal_runs_to_its_end_and_says_that_it_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = "import,probe,copies,hand,bandwidth"
    words = f"--rehearse --stages {stages} --rows {ROWS}"
    monkeypatch.setattr(sys, "argv", ["gpu-proof", *words.split(), "--out", str(tmp_path / "out")])
    assert proof.main() == 0
    shown = capsys.readouterr().out
    assert "proves nothing of a GPU" in shown
    ran = json.loads((tmp_path / "out" / "ran.json").read_text())
    assert [(each["stage"], each["code"]) for each in ran.values()] == [
        ("import", 0), ("import", 0), *((stage, 0) for stage in stages.split(",")[1:])
    ]  # fmt: skip
    for each in json.loads((tmp_path / "out" / "hand.json").read_text()):
        assert each["auc"]["hand"] == pytest.approx(each["auc"]["ours"], abs=0.005)
        assert len(each["seconds"]["ours"]) == len(each["seconds"]["hand"]) == 3
        assert f"{each['pipeline']}, our time in that by hand" in shown


def test_without_a_gpu_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(sys, "argv", ["gpu-proof", "--out", str(tmp_path / "out")])
    assert proof.main() == 69
    assert "[gpu-proof]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
