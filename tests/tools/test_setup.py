"""Set-up without a network: what it would install is recorded; one slow test makes a real one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import setup

ROOT = setup.ROOT
FIND = str(ROOT / "tools" / "find-python")
ALL = ["find", "venv", "build.txt", "cpu.txt", "checkout"]


class Checkout:
    """A checkout whose commands are recorded; `fail_at` makes one of them fail."""

    def __init__(self, root: Path) -> None:
        self.root, self.venv, self.fail_at = root, root / ".venv", 0
        self.ran: list[list[str]] = []
        for name in ("build", "cpu", "cu12", "cu13", "bench"):
            self.write(f"requirements/{name}.txt", f"{name}==1\n")
        self.write("pyproject.toml", "[project]\n")
        for name in ("pipeline/system/gpu.py", "tools/find-python"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def run(self, *command: object) -> None:
        words = [str(part) for part in command]
        self.ran.append(words)
        if len(self.ran) == self.fail_at:
            raise setup.SetupError("the command above failed")
        if words[0] == "find":
            shutil.rmtree(self.venv / "bin", ignore_errors=True)
        if "venv" in words:
            (self.venv / "bin").mkdir()
            (self.venv / "bin" / "python").touch()

    def setup(self, gpu: str = "cpu", *more: str, code: int = 0) -> list[str]:
        """Set up; return what each command is about."""
        self.ran.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(setup, "ROOT", self.root)
            patch.setattr(setup, "run", self.run)
            patch.setattr(sys, "argv", ["setup.py", *more, "--gpu", gpu])
            assert setup.main() == code
        about = [words[0] if words[0] == "find" else Path(words[-1]).name for words in self.ran]
        return ["venv" if each == ".venv" else each for each in about]

    @property
    def state(self) -> dict[str, str]:
        return json.loads((self.venv / setup.STATE).read_text() or "{}")


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Checkout:
    # Whatever runs these tests; those that are about an older one say so.
    monkeypatch.setattr(setup, "GPU_PYTHON", (3, 11))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    (tmp_path / "checkout").mkdir()
    return Checkout(tmp_path / "checkout")


def test_an_environment_is_made_once_and_everything_but_the_project_is_hashed(checkout) -> None:
    assert checkout.setup() == ALL
    locked = [words for words in checkout.ran if "-r" in words]
    assert len(locked) == 2
    assert all({"--require-hashes", "--no-deps", "--only-binary=:all:"} <= {*w} for w in locked)
    assert checkout.setup() == []


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda c: c.write("pyproject.toml", "other"), ["checkout"]),
        (lambda c: c.write("requirements/build.txt", "other"), ALL),
        (lambda c: c.write("requirements/cpu.txt", "other"), ALL),
        (lambda c: c.write("requirements/cu13.txt", "other"), []),
        (lambda c: (c.venv / "bin" / "python").unlink(), ALL),
        (lambda c: c.write(".venv/.made-by-setup", json.dumps({**c.state, "root": "/moved"})), ALL),
    ],
)
def test_what_changed_is_made_again_and_no_more(checkout, change, again) -> None:
    checkout.setup()
    change(checkout)
    assert checkout.setup() == again
    assert checkout.setup() == []


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("step", range(1, 6))
def test_an_interrupted_step_never_counts(checkout, step, before) -> None:
    if before:
        checkout.setup("cu13")
    checkout.fail_at = step
    checkout.setup(code=1)
    assert checkout.state == {}
    checkout.fail_at = 0
    assert checkout.setup() == ALL


def test_packages_for_a_gpu_are_installed_by_a_python_that_has_them(
    checkout, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(setup, "GPU_PYTHON", (3, 13))
    monkeypatch.setattr(setup.sys, "version_info", (3, 12, 1))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # without pyenv
    newer = checkout.root / "newer"
    checkout.write("newer", "#!/bin/sh\n")
    newer.chmod(0o755)
    assert checkout.setup("cu13", "no-such-python", code=1) == []
    assert "need Python 3.13 or newer; install python3.13-venv" in capsys.readouterr().err
    assert not checkout.venv.exists()
    assert checkout.setup("cu13", "no-such-python", str(newer))
    assert checkout.ran[1][0] == str(newer)
    monkeypatch.setattr(setup.subprocess, "check_output", lambda *_, **__: "cu13\n")
    shutil.rmtree(checkout.venv)
    assert checkout.setup("auto", "no-such-python") == ALL
    assert "using cpu: the packages for a GPU need" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["foreign", "link"])
def test_an_environment_that_is_not_ours_is_not_touched(checkout, capsys, kind) -> None:
    if kind == "link":
        checkout.setup()
        checkout.venv.symlink_to(checkout.venv.rename(checkout.root / "elsewhere"))
    else:
        checkout.write(".venv/pyvenv.cfg", "mine")
    before = sorted(checkout.root.rglob("*"))
    assert checkout.setup(code=1) == []
    assert sorted(checkout.root.rglob("*")) == before
    said = {"link": "is a link; use it", "foreign": "was not made by `make setup`; move it away"}
    assert said[kind] in capsys.readouterr().err


def test_the_first_python_that_fits_is_found(tmp_path) -> None:
    def command(name: str, text: str) -> str:
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
        return str(tmp_path / name)

    def find(*words: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}
        return subprocess.run(
            [FIND, *words], env=environ, capture_output=True, text=True, check=False
        )

    old, (major, minor) = command("old", "exit 1"), sys.version_info[:2]
    assert find(f"{major}.{minor}", "no-such", old, sys.executable).stdout == f"{sys.executable}\n"
    none = find(f"{major}.{minor + 1}", old, sys.executable)
    assert (none.returncode, none.stdout) == (2, "")
    assert f"needs Python {major}.{minor + 1} to 3.14" in none.stderr
