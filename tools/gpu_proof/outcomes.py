"""A plugin of pytest that keeps what came of each test in a file: ``-p tools.gpu_proof.outcomes``.

A test whose outcome on the same code is in the file is not run again, nor is one that has begun and
not ended: it hung, or took the process along.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

DUE = "due"
BAD = ("failed", "begun")
"""How a test ended that failed, or that did not end."""


def read(path: Path) -> dict[str, tuple[str, str]]:
    """Return the last outcome of each test, ``"begun"`` if it has not ended, and its code."""
    found = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        with suppress(ValueError):  # the last one, of a machine that was lost
            test, outcome, code = json.loads(line)
            found[test] = outcome, code
    return found


def keep(path: Path, test: str, outcome: str, code: str) -> None:
    """Add an outcome to the file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps([test, outcome, code]) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the file, and a name for the code that is tested."""
    parser.addoption("--outcomes", type=Path, required=True)
    parser.addoption("--code", required=True)
    parser.addoption("--due-only", action="store_true")


def pytest_configure(config: pytest.Config) -> None:
    """Keep outcomes from now on."""
    config.pluginmanager.register(_Keeper(config))


class _Keeper:
    def __init__(self, config: pytest.Config) -> None:
        self.path: Path = config.getoption("outcomes")
        self.code: str = config.getoption("code")
        self.due_only: bool = config.getoption("due_only")
        self.outcome = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = read(self.path)
        items[:] = [item for item in items if self._due(*known.get(item.nodeid, (DUE, "")))]
        for item in items:
            self._keep(item.nodeid, DUE)

    def _due(self, outcome: str, code: str) -> bool:
        return outcome == DUE or (code != self.code and not self.due_only)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._keep(nodeid, "begun")
        self.outcome = "passed"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.outcome != "failed" and report.outcome != "passed":
            self.outcome = report.outcome
        if report.when == "teardown":
            self._keep(report.nodeid, self.outcome)

    def _keep(self, test: str, outcome: str) -> None:
        keep(self.path, test, outcome, self.code)
