"""Set-up without a network: what it would install is recorded, not run."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools import setup

REPOSITORY = setup.ROOT


class Checkout:
    """A checkout whose commands are recorded; `fail_at` makes one of them fail."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.commands: list[list[str]] = []
        self.fail_at = 0
        (root / "requirements").mkdir()
        for name in ("build", "cpu", "cu12", "cu13"):
            (root / "requirements" / f"{name}.txt").write_text(f"{name}==1\n")
        (root / "pyproject.toml").write_text("[project]\n")
        (root / "pipeline" / "system").mkdir(parents=True)
        (root / "pipeline" / "system" / "gpu.py").write_text(
            (REPOSITORY / "pipeline" / "system" / "gpu.py").read_text()
        )
        (root / "tools").mkdir()
        shutil.copy(REPOSITORY / "tools" / "find-python", root / "tools")

    def run(self, *command: object, lock: int) -> None:
        self.commands.append([str(part) for part in command])
        if len(self.commands) == self.fail_at:
            raise setup.SetupError("the command above failed")
        if "venv" in self.commands[-1]:
            (self.venv / "bin").mkdir()
            (self.venv / "bin" / "python").touch()

    def setup(self, extra: str = "cpu", pythons: Sequence[str] = ()) -> list[str]:
        """Set up; return the last word of each command."""
        self.commands.clear()
        setup.setup(self.venv, extra, pythons=pythons)
        return [Path(command[-1]).name for command in self.commands]

    @property
    def stamps(self) -> list[str]:
        return sorted(path.name for path in self.venv.glob(".installed-*"))


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Checkout:
    made = Checkout(tmp_path)
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "run", made.run)
    # Whatever runs these tests; those that are about an older one say so.
    monkeypatch.setattr(setup, "GPU_PYTHON", (3, 11))
    return made


@pytest.fixture
def too_old(checkout, tmp_path, monkeypatch) -> str:
    """Let this Python have no packages for a GPU; return another one that has them."""
    monkeypatch.setattr(setup, "GPU_PYTHON", (3, 14))
    monkeypatch.setattr(setup.sys, "version_info", (3, 13, 1))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # without pyenv
    newer = tmp_path / "python3.14"
    newer.write_text("#!/bin/sh\ntrue\n")
    newer.chmod(0o755)
    return str(newer)


ALL = [".venv", "build.txt", "cpu.txt"]


def test_a_new_environment_is_made_from_the_locks_and_the_project(checkout) -> None:
    assert checkout.setup() == [*ALL, checkout.root.name]
    assert checkout.stamps == [".installed-cpu"]


def test_everything_but_the_project_is_held_to_its_hash(checkout) -> None:
    checkout.setup()
    locked = [command for command in checkout.commands if "-r" in command]
    assert len(locked) == 2
    assert all({"--require-hashes", "--no-deps"} <= set(command) for command in locked)


def test_a_finished_environment_is_left_alone(checkout) -> None:
    checkout.setup()
    assert checkout.setup() == []


def test_a_changed_project_is_installed_without_making_all_anew(checkout) -> None:
    checkout.setup()
    (checkout.root / "pyproject.toml").write_text("[project]\nversion = '2'\n")
    assert checkout.setup() == [checkout.root.name]
    assert checkout.setup() == []


@pytest.mark.parametrize("lock", ["build.txt", "cpu.txt"])
def test_a_changed_lock_makes_a_clean_environment(checkout, lock) -> None:
    checkout.setup()
    stale = checkout.venv / "lib"
    stale.mkdir()
    (checkout.root / "requirements" / lock).write_text("other==2\n")
    assert checkout.setup() == [*ALL, checkout.root.name]
    assert not stale.exists()


def test_a_changed_lock_of_another_extra_changes_nothing(checkout) -> None:
    checkout.setup()
    (checkout.root / "requirements" / "cu13.txt").write_text("other==2\n")
    assert checkout.setup() == []


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_an_interrupted_step_never_counts(checkout, step) -> None:
    checkout.fail_at = step
    with pytest.raises(setup.SetupError):
        checkout.setup()
    assert checkout.stamps == []
    checkout.fail_at = 0
    assert checkout.setup() == [*ALL, checkout.root.name]
    assert checkout.stamps == [".installed-cpu"]


def test_an_interrupted_renewal_does_not_leave_the_old_stamp(checkout) -> None:
    checkout.setup()
    (checkout.root / "requirements" / "cpu.txt").write_text("other==2\n")
    checkout.fail_at = 3
    with pytest.raises(setup.SetupError):
        checkout.setup()
    assert checkout.stamps == []


def test_an_environment_that_is_half_removed_does_not_count(checkout, monkeypatch) -> None:
    checkout.setup()

    def fail(_folder: Path) -> None:
        raise OSError("interrupted")

    monkeypatch.setattr(setup.shutil, "rmtree", fail)
    with pytest.raises(OSError, match="interrupted"):
        checkout.setup("cu13")
    assert checkout.stamps == []


def test_another_extra_replaces_the_environment(checkout) -> None:
    checkout.setup("cpu")
    assert checkout.setup("cu13")[:3] == [".venv", "build.txt", "cu13.txt"]
    assert checkout.stamps == [".installed-cu13"]


def test_auto_keeps_the_extra_that_is_there(checkout) -> None:
    checkout.setup("cu12")
    assert checkout.setup("auto") == []
    assert checkout.stamps == [".installed-cu12"]


def test_auto_looks_for_a_gpu_when_there_is_no_environment(checkout, monkeypatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    checkout.setup("auto")
    assert checkout.stamps == [".installed-cpu"]


def test_a_gpu_is_set_up_by_a_python_that_has_packages_for_it(
    checkout, too_old, monkeypatch
) -> None:
    class Replaced(Exception):
        pass

    def execv(path: str, arguments: list[str]) -> None:
        raise Replaced(path, arguments)

    monkeypatch.setattr(setup.os, "execv", execv)
    monkeypatch.setattr(setup.sys, "argv", ["setup.py", "--extra", "cu13"])
    with pytest.raises(Replaced) as caught:
        checkout.setup("cu13", ["no-such-python", too_old])
    assert caught.value.args == (too_old, [too_old, "setup.py", "--extra", "cu13"])
    assert not checkout.venv.exists()
    assert checkout.setup("cpu", [too_old])  # which needs no other


def test_a_gpu_asked_for_without_a_python_that_has_its_packages_is_an_error_of_one_line(
    checkout, too_old
) -> None:
    with pytest.raises(setup.SetupError) as caught:
        checkout.setup("cu13", ["no-such-python"])
    assert str(caught.value) == (
        "the packages for a GPU need Python 3.14 or newer, and none was found; "
        "install python3.14 and python3.14-venv, then run make setup GPU=cu13"
    )
    assert not checkout.venv.exists()


def test_a_gpu_found_without_a_python_that_has_its_packages_is_told_in_one_line(
    checkout, too_old, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(setup, "detect", lambda asked: ("cu13", "[gpu] cu13: driver 580"))
    assert checkout.setup("auto", ["no-such-python"])
    assert checkout.stamps == [".installed-cpu"]
    assert capsys.readouterr().out.splitlines()[0] == (
        "[gpu] cpu, for the packages for a GPU need Python 3.14 or newer (cu13 would fit); "
        "install python3.14 and python3.14-venv, then run make setup GPU=cu13"
    )


def test_a_finished_environment_with_packages_for_a_gpu_needs_no_other_python(
    checkout, monkeypatch
) -> None:
    checkout.setup("cu13")
    monkeypatch.setattr(setup, "GPU_PYTHON", (4, 0))
    assert checkout.setup("auto") == []


def test_an_unknown_extra_is_refused_before_anything_is_touched(checkout) -> None:
    checkout.setup()
    with pytest.raises(setup.SetupError, match=r"GPU=cu14.*auto, cpu, cu12, cu13"):
        checkout.setup("cu14")
    assert checkout.stamps == [".installed-cpu"]


def test_an_environment_that_somebody_else_made_is_not_touched(checkout) -> None:
    checkout.venv.mkdir()
    (checkout.venv / "pyvenv.cfg").write_text("mine")
    with pytest.raises(setup.SetupError, match="was not made by `make setup`"):
        checkout.setup()
    assert (checkout.venv / "pyvenv.cfg").read_text() == "mine"


@pytest.mark.parametrize("group", ["", "bench"])
def test_an_environment_that_is_linked_to_is_not_touched(
    checkout, tmp_path_factory, group: str
) -> None:
    checkout.setup()
    elsewhere = checkout.venv.rename(tmp_path_factory.mktemp("other") / ".venv")
    checkout.venv.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    checkout.commands.clear()
    with pytest.raises(setup.SetupError, match="is a link, and what it leads to"):
        setup.setup(checkout.venv, "auto", group)
    assert sorted(elsewhere.rglob("*")) == before
    assert checkout.commands == []


def test_an_environment_copied_from_elsewhere_is_made_anew(checkout) -> None:
    checkout.setup()
    stamp = checkout.venv / ".installed-cpu"
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "root": "/elsewhere"}))
    assert checkout.setup() == [*ALL, checkout.root.name]


def test_an_environment_whose_python_is_gone_is_made_anew(checkout) -> None:
    checkout.setup()
    (checkout.venv / "bin" / "python").unlink()
    assert checkout.setup() == [*ALL, checkout.root.name]


def test_a_python_without_venv_is_told_what_to_install(checkout, monkeypatch) -> None:
    monkeypatch.setattr(setup.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(setup.SetupError, match=r"install python3\.\d+-venv"):
        checkout.setup()


def test_two_set_ups_do_not_work_at_the_same_time(checkout) -> None:
    other = os.open(checkout.root / "requirements", os.O_RDONLY)
    try:
        with setup.alone(), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(other)


def test_a_command_holds_the_lock_too() -> None:
    with setup.alone() as lock:
        setup.run(sys.executable, "-c", f"import os; os.fstat({lock})", lock=lock)


def test_a_command_that_fails_stops_the_set_up() -> None:
    with setup.alone() as lock, pytest.raises(setup.SetupError, match="run make again"):
        setup.run(sys.executable, "-c", "raise SystemExit(3)", lock=lock)
