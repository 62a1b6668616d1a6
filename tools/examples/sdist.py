"""The examples in scikit-learn's sdist; pip downloads it and verifies the hash in the lock."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import sklearn

ROOT = Path(__file__).parents[2]
NAME = f"scikit-learn=={sklearn.__version__}"
HOME = ROOT / "build" / "examples"


def examples() -> dict[str, Path]:
    """Return the examples by name; download and unpack them once."""
    folder = HOME / NAME
    if not folder.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=HOME) as draft:
            with tarfile.open(_download(Path(draft))) as sdist:
                wanted = [each for each in sdist if "examples" in Path(each.name).parts[1:2]]
                sdist.extractall(draft, wanted, filter="data")
            next(Path(draft).glob("*/examples")).rename(folder)
    return {path.stem: path for path in folder.rglob("*.py")}


def _download(folder: Path) -> Path:
    lock = (ROOT / "requirements" / "cpu.txt").read_text("utf-8")
    entry = re.search(rf"^{re.escape(NAME)} (?:.*\\\n)*.*", lock, re.MULTILINE)
    if entry is None:
        sys.exit(f"requirements/cpu.txt does not have {NAME}; run `make setup`, then try again")
    (folder / "entry.txt").write_text(entry[0], "utf-8")
    # pip asks the build backend for metadata, which is not installed; no_build stands in for it.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--no-build-isolation", "--no-binary", "scikit-learn", "--dest", str(folder)]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).with_name("no_build"))}
    subprocess.run([*command, "-r", str(folder / "entry.txt")], env=env, check=True)
    return next(folder.glob("*.tar.gz"))
