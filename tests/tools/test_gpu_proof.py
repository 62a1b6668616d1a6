"""The proof on a GPU, rehearsed on the CPU: its stages run, and its verdicts follow the records."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sklearn.preprocessing import TargetEncoder

from pipeline import provenance, task
from tools.gpu_proof import __main__ as proof
from tools.gpu_proof import bandwidth, copies, duel, verdicts
from tools.gpu_proof.hand import ByHand
from tools.gpu_proof.stages import STAGES, Ask

ROWS = 20_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return task.load("synthetic").prepare(tmp_path_factory.mktemp("home"), rows=ROWS)


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    return Ask(tmp_path, "cuda", (ROWS,), 2)


def write(ask: Ask, name: str, record: Any) -> None:
    ask.file(name).write_bytes(msgspec.json.encode(record))


def found(ask: Ask) -> dict[str, verdicts.Verdict]:
    return {verdict.what: verdict for verdict in verdicts.verdicts(ask)}


def test_the_program_by_hand_is_as_good_as_ours(table: Path) -> None:
    runs = duel.duel(table, ROWS, "cpu", repeats=1)
    assert runs.auc_hand == pytest.approx(runs.auc_ours, abs=0.005)
    assert runs.auc_hand > 0.8
    assert len(runs.ours) == len(runs.hand) == 1


def test_rates_by_hand_are_those_of_scikit_learn() -> None:
    pd: Any = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    texts = pd.Series(rng.choice(list("abcdefgh"), 400))
    y = (rng.random(400) < texts.map(dict(zip("abcdefgh", np.linspace(0, 1, 8), strict=True)))) * 1
    others = pd.Series(["a", "h", "unknown"])
    hand = ByHand("cpu", 0)
    _, rates = hand._encoded(texts, others, y.to_numpy(), np.arange(400) % 5)
    wanted = TargetEncoder().fit(texts.to_frame(), y).transform(others.to_frame())
    np.testing.assert_allclose(rates, wanted[:, 0], atol=1e-12)


def test_nothing_is_said_of_what_was_not_run(ask: Ask) -> None:
    assert {verdict.met for verdict in found(ask).values()} == {None}
    assert {verdict.found for verdict in found(ask).values()} == {verdicts.NOT_RUN}


@pytest.mark.parametrize(
    ("failures", "skipped", "met"), [(0, 3, True), (1, 3, False), (0, 9, None)]
)
def test_failing_tests_are_counted(ask: Ask, failures: int, skipped: int, met: bool | None) -> None:
    ask.file("tests.xml").write_text(
        f'<testsuites><testsuite tests="9" failures="{failures}" errors="0" skipped="{skipped}"/>'
        "</testsuites>"
    )
    verdict = found(ask)["failing `gpu` tests"]
    assert (verdict.found, verdict.met) == (f"{failures} of {9 - skipped}, {skipped} skipped", met)


@pytest.mark.parametrize(("bytes_", "met"), [(0, True), (8, False), (None, None)])
def test_bytes_to_the_host_are_those_of_the_driver(
    ask: Ask, bytes_: int | None, met: bool | None
) -> None:
    kept = {"booked": 0, "predict_to_host": 5, "answer_bytes": 5}
    write(ask, "copies.json", [copies.Moved(spec="s", fit_to_host=bytes_, **kept)])
    verdict = found(ask)["bytes from device to host while the flights are learnt"]
    said = verdicts.NOT_RUN if bytes_ is None else str(bytes_)
    assert (verdict.found, verdict.met) == (said, met)


def test_our_time_is_held_to_that_of_the_program_by_hand(ask: Ask) -> None:
    kept = {"rows": 1, "hand": [1.0] * 5, "auc_ours": 0.8, "auc_hand": 0.8}
    for seconds, met in ((1.05, True), (1.2, False)):
        write(ask, "hand.json", duel.Runs(ours=[seconds] * 5, **kept))
        verdict = found(ask)["our time in that of the program by hand"]
        assert verdict.met is met
        assert verdict.found.startswith(f"{seconds:.2f}, ")


def test_a_copy_and_the_stages_are_told_in_bytes_a_second(ask: Ask) -> None:
    assert bandwidth.copied("cpu", 1 << 20) > 1e6
    stage = bandwidth.Achieved(stage="read", least_bytes=10**9, seconds=0.5)
    record = bandwidth.Bandwidth(rows=ROWS, copied_bytes_a_second=4e9, stages=[stage])
    write(ask, "bandwidth.json", record)
    text = verdicts.report(ask, provenance.machine({}, 0.0))
    assert "| read, 20,000 rows | 2.00 | 50.0% |" in text


def test_a_rehearsal_runs_the_stages_and_says_that_it_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = f"--rehearse --stages doctor,profile --rows {ROWS} --out {out}"
    monkeypatch.setattr(sys, "argv", ["gpu-proof", *words.split()])
    monkeypatch.setenv("PATH", "")  # no nsys
    assert proof.main() == 0
    record = proof.load(out / "proof.json")
    assert record.rehearsal
    assert [(ran.stage, ran.code) for ran in record.ran] == [("doctor", 0)]
    assert "proves nothing of a GPU" in capsys.readouterr().out
    assert (out / "doctor.log").stat().st_size > 100


def test_a_command_may_take_no_more_than_the_time_that_is_left(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeps = {"a": lambda ask: iter([["-c", "import time; time.sleep(60)"]])}
    monkeypatch.setattr(proof, "STAGES", sleeps)
    (ran,) = proof.run(ask, ["a"], minutes=0.01)
    assert ran.code == -1
    assert ran.seconds < 30


def test_without_a_gpu_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(sys, "argv", ["gpu-proof", "--out", str(tmp_path / "out")])
    assert proof.main() == 69
    assert "[gpu-proof]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_every_stage_writes_where_it_is_asked_to(ask: Ask) -> None:
    for name, commands in STAGES.items():
        for command in commands(ask):
            if name != "doctor" and "data" not in command:
                assert any(str(ask.out) in word for word in command), command
