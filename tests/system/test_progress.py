"""Progress on a terminal: what runs, how far it is, and how long it will take."""

from __future__ import annotations

import pytest
from rich.console import Console

from pipeline.system import progress
from tests.commands import Tty


def test_the_bar_names_the_work_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Tty()
    monkeypatch.setattr(
        progress, "Console", lambda: Console(file=out, force_terminal=True, width=120)
    )
    with progress.progress("flights [x]", 3) as say:
        say("logistic  cpu  1/3  0.10 s")
        say("logistic  cpu  2/3  0.10 s")
    shown = out.getvalue()
    assert "flights [x]" in shown
    assert "logistic  cpu" in shown
    assert "2/3" in shown
    assert "left:" in shown
