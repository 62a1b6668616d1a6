"""Runs are transactions: one writer, and nothing in the results that is not theirs."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest

from pipeline import Accelerated, save
from pipeline.errors import OutputLocked
from tests import programs
from tests.commands import OLD, assert_one_message, call, intact, old_results


@pytest.mark.parametrize("command", ["run", "compare", "report", "predict", "save"])
def test_a_second_writer_ends_with_75(command: str, small_home: Path, tmp_path: Path) -> None:
    out = old_results(tmp_path / "out" / "results")
    model = Accelerated(programs.program(), device="cpu").fit(programs.TABLE, programs.NUMBERS)
    programs.TABLE.to_parquet(tmp_path / "in.parquet")
    with (out.parent / ".results.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if command == "save":
            with pytest.raises(OutputLocked, match="another run is writing here") as caught:
                save(model, out)
            assert caught.value.exit_code == 75
        elif command == "predict":
            folder = save(model, tmp_path / "model")
            (out.parent / "table").write_text(OLD)
            with (out.parent / ".table.lock").open("w") as other:
                fcntl.flock(other, fcntl.LOCK_EX)
                target = out.parent / "table"
                done = call("predict", folder, tmp_path / "in.parquet", target, "--device", "cpu")
            assert_one_message(done, 75, str(target), "another run is writing here")
            assert target.read_text() == OLD
            for path in (target, out.parent / ".table.lock"):
                path.unlink()
        else:
            done = call(
                command, "flights", "--device", "cpu", "--data-home", small_home, "--out", out
            )
            assert_one_message(done, 75, str(out), "another run is writing here")
    assert intact(out)


def test_a_record_holds_nothing_of_the_environment(
    small_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("SOME_TOKEN", "b7e1c0ffee")
    monkeypatch.setenv("HOME", "/home/somebody-else")
    out = tmp_path / "out"
    done = call("run", "flights", "--device", "cpu", "--pipelines", "logistic",
                "--data-home", small_home, "--out", out)  # fmt: skip
    assert done.code == 0, done.err
    texts = [path.read_text() for path in out.rglob("*.json")]
    assert json.loads((out / "results.json").read_text())["task"]["name"] == "flights"
    assert len(texts) >= 3
    for text in texts:
        assert "b7e1c0ffee" not in text
        assert "somebody-else" not in text
