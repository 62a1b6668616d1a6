from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import audit

SOUND = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
SKIPPED = {"name": "c", "skip_reason": "c was not found"}
FAKE = """
import json, sys
open(sys.argv[1], "a").write(" ".join(sys.argv[2:]))
print(json.dumps({"dependencies": [{"name": "a", "version": "1", "vulns": []}]}))
"""


def of(*packages: dict[str, Any]) -> audit.Audit:
    return audit.read(json.dumps({"dependencies": packages}), "")


@pytest.mark.parametrize(
    ("packages", "code", "says"),
    [
        ([SOUND], 0, "1 packages looked up, 0 vulnerable"),
        ([SOUND, BAD], 1, "VULNERABLE b 2: CVE-1, fixed in 3"),
        ([SOUND, SKIPPED], 69, "NOT AUDITED: 1, such as: c was not found"),
        ([BAD, SKIPPED], 1, "VULNERABLE b 2"),
        ([], 69, "no package in the lock"),
    ],
)
def test_only_what_was_looked_up_counts(
    packages: list[dict[str, Any]], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.report({"lock": of(*packages)}) == code
    assert says in capsys.readouterr().out


@pytest.mark.parametrize("answer", ["", "{}", "[]", "<html>"])
def test_no_answer_is_no_success(answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = audit.read(answer, "Traceback\n  ...\nConnectionError: no route to host\n")
    assert audit.report({"lock": found}) == 69
    assert "ConnectionError: no route to host" in capsys.readouterr().out


def test_each_lock_is_asked_about_by_its_hashes(tmp_path: Path) -> None:
    (tmp_path / "fake.py").write_text(FAKE)
    asked = tmp_path / "asked"
    program = [sys.executable, str(tmp_path / "fake.py"), str(asked)]
    assert audit.ask(tmp_path / "cpu.txt", program) == audit.Audit(1, [], [])
    said = asked.read_text()
    assert f"--requirement {tmp_path / 'cpu.txt'} --require-hashes --disable-pip" in said


@pytest.mark.parametrize(("told", "code"), [([], 69), (["--offline-tell"], 0)])
def test_offline_is_told_and_may_be_let_pass(
    told: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "ask", lambda *_: audit.Audit(0, [], ["no route to host"]))
    monkeypatch.setattr(sys, "argv", ["audit", str(tmp_path / "cpu.txt"), *told])
    assert audit.main() == code
