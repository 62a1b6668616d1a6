"""The command `tune`: what it publishes, and what a kill, Ctrl-C and a second command do to it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pipeline.benchmark.record.tuning_record import TuningRecord, load_tuning
from tests.commands import assert_one_message, call, started

ENDLESS = 100_000


def words(home: Path, out: Path, trials: int, *more: object) -> list[object]:
    """Return the words of a command that tunes a linear model, on the CPU."""
    given = ["--data-home", home, "--out", out, "--trials", trials, "--cv", 2, "--no-prune"]
    return ["tune", "flights", "--device", "cpu", "--pipelines", "logistic", *given, *more]


def numbers(record: TuningRecord) -> list[int]:
    return [trial.number for trial in record.searches[0].trials]


def end(home: Path, out: Path, number: signal.Signals) -> tuple[int, str]:
    """End an endless search after its third trial; return the exit code and what it said."""
    with started("-m", "pipeline", *words(home, out, ENDLESS)) as process:
        for line in process.stdout:
            if line.startswith("3 of"):
                break
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        said, err = process.communicate(timeout=300)
    return process.returncode, said + err


@pytest.mark.slow
def test_the_same_command_with_more_trials_goes_on(small_home: Path, tmp_path: Path) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    for trials, folder in ((2, out), (4, out), (4, whole)):
        done = call(*words(small_home, folder, trials))
        assert done.code == 0, done.err
    listed = call("models", out, whole).out.splitlines()
    for line, folder in zip(listed, (out, whole), strict=True):
        assert line.startswith(f"{folder / 'logistic.model'}  ")
        assert "  trained on cpu  roc_auc 0." in line
    parts, once = (load_tuning(folder / "tuning.json").searches[0] for folder in (out, whole))
    assert [t.params for t in parts.trials] == [t.params for t in once.trials]
    assert [t.folds for t in parts.trials] == [t.folds for t in once.trials]
    done = call(*words(small_home, out, 4, "--set", "logisticregression__max_iter=99"))
    assert_one_message(done, 2, "differs in estimator", "--no-resume starts again")
    assert load_tuning(out / "tuning.json").searches[0] == parts
    assert call("tune", "flights", "--out", out, "--from-results").out == (
        f"tuning: {(out / 'index.html').as_uri()}\n"
    )
    assert call(*words(small_home, out, 2, "--no-resume")).code == 0
    assert len(load_tuning(out / "tuning.json").searches[0].trials) == 2


@pytest.mark.slow
def test_ctrl_c_publishes_what_was_found(small_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said = end(small_home, out, signal.SIGINT)
    assert code == 130, said
    assert "interrupted; the finished searches are published" in said
    record = load_tuning(out / "tuning.json")
    assert record.protocol.interrupted
    assert record.searches[0].ended == "Ctrl-C"
    assert len(numbers(record)) >= 3
    done = call(*words(small_home, out, len(numbers(record)) + 1))
    assert done.code == 0, done.err
    after = load_tuning(out / "tuning.json")
    assert not after.protocol.interrupted
    for one, same in zip(record.searches[0].trials, after.searches[0].trials, strict=False):
        assert (one.number, one.params, one.folds) == (same.number, same.params, same.folds)
        # The system tells to a few milliseconds when a file was written.
        assert same.seconds == pytest.approx(one.seconds, abs=0.1)
    ends = [trial.seconds for trial in after.searches[0].trials]
    assert ends == sorted(ends)
    assert after.searches[0].seconds >= ends[-1]


@pytest.mark.slow
def test_a_killed_search_publishes_nothing_and_goes_on(small_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _ = end(small_home, out, signal.SIGKILL)
    assert (code, out.exists()) == (-9, False)
    done = call(*words(small_home, out, 6))
    assert done.code == 0, done.err
    lines = [line for line in done.out.splitlines() if " of 6, trial " in line]
    assert 0 < len(lines) <= 3
    assert numbers(load_tuning(out / "tuning.json")) == list(range(6))
    assert not (tmp_path / ".out.runs").exists()
