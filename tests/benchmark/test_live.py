"""What is said while a comparison runs."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from pipeline.benchmark.run.live import watching
from tests.commands import Tty


def run_three() -> None:
    """Tell of three runs, of which the second fails, and of a fourth that is not made."""
    with watching("flights") as watch:
        watch.expect(4)
        for number, said in enumerate(("1.00 s", "failed: no [room]\x1b[2J", "1.00 s"), start=1):
            watch.begin(f"forest\x1b[2J  cpu  {number}/3")
            time.sleep(0.05)
            watch.end(f"forest  cpu  {number}/3  {said}", failed="failed" in said)
        watch.expect(-1)


def shown(written: str) -> list[str]:
    """Return what a terminal shows in the end: lines that were erased are gone."""
    lines = [""]
    for part in re.split(r"(\x1b\[[\d;]*[A-Za-z]|\x1b\[\?\d+[hl]|\r|\n)", written):
        if part == "\n":
            lines.append("")
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif part == "\x1b[1A":
            lines.pop()
        elif part != "\r" and not part.startswith("\x1b"):
            lines[-1] += part
    return [line for line in lines if line]


@pytest.mark.parametrize(
    ("out", "environment"),
    [(io.StringIO, {}), (io.StringIO, {"FORCE_COLOR": "1"}), (Tty, {"TERM": "dumb"})],
    ids=["pipe", "log of a CI", "dumb terminal"],
)
def test_where_nothing_can_be_drawn_each_run_has_a_plain_line(
    out: type[io.StringIO], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", written := out())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    run_three()
    first, second, third = written.getvalue().splitlines()
    assert re.fullmatch(r"forest  cpu  1/3  1\.00 s  \(0\.\d s, about 0\.\d s left\)", first)
    assert second.startswith("forest  cpu  2/3  failed: no [room]\ufffd[2J  (0.")
    assert third.startswith("forest  cpu  3/3  1.00 s  (0.")


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_a_terminal_shows_what_runs_and_keeps_what_failed(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", written := Tty())
    for name, value in {"TERM": "xterm", "COLUMNS": "100", **environment}.items():
        monkeypatch.setenv(name, value)
    run_three()
    found = written.getvalue()
    assert "\x1b[2J" not in found
    assert "forest\ufffd[2J  cpu  3/3" in found
    assert "3/3" in re.sub(r"\x1b\[[\d;]*m", "", found).replace(" ", "")
    assert shown(found) == ["forest  cpu  2/3  failed: no [room]\ufffd[2J"]
