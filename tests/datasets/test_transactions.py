"""Runs are transactions: one writer, and nothing in the results that is not theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.system.atomic import locked
from tests.commands import assert_one_message, call, intact, old_results


@pytest.mark.parametrize("command", ["run", "compare", "report"])
def test_a_second_writer_ends_with_75(command: str, small_home: Path, tmp_path: Path) -> None:
    out = old_results(tmp_path / "out" / "results")
    with locked(out):
        done = call(command, "flights", "--device", "cpu", "--data-home", small_home, "--out", out)
    assert_one_message(done, 75, str(out), "another process is writing here")
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
