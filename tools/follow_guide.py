"""Do what a guide prints, word for word, in a fresh clone: from a table to predictions.

    .venv/bin/python -m tools.follow_guide             # clones this repository, sets it up
    .venv/bin/python -m tools.follow_guide --python .venv/bin/python

The blocks ``sh`` of the section run as they stand, in order, line by line; the blocks ``python``
are saved and run. The last ``OUT=`` must be a table whose predictions are classes of ``TARGET=``
in ``FILE=``.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
GUIDE, SECTION = "docs/tasks.md", "Your own data"
MINUTES = 20
"""For a command, the first of which sets the clone up."""


class GuideError(Exception):
    """What of the guide does not work."""


class Block(NamedTuple):
    """A block of a language, and the heading that it stands below."""

    language: str
    text: str


def read_blocks(page: str, section: str) -> list[Block]:
    r"""Return the blocks to run of a section with all below it.

    >>> read_blocks('''## A
    ... ```sh
    ... make list
    ... ```
    ... ## B''', "A")
    [Block(language='sh', text='make list\n')]
    """
    start = re.search(rf"^(#+) {re.escape(section)}$", page, re.MULTILINE)
    if not start:
        raise GuideError(f"no section {section!r}")
    rest = page[start.end() :]
    end = re.search(rf"^#{{1,{len(start[1])}}} ", rest, re.MULTILINE)
    found = re.findall(r"^```(sh|python)\n(.*?)^```", rest[: end and end.start()], re.M | re.S)
    if not found:
        raise GuideError(f"no blocks to run below {section!r}")
    return [Block(*each) for each in found]


def follow(blocks: Sequence[Block], clone: Path, python: Path | None = None) -> pd.DataFrame:
    """Run the blocks in a clone; return the predictions that they end with."""
    environ = _environ(clone, python)
    if python:
        (clone / ".venv").symlink_to(python.parent.parent)
    for number, block in enumerate(blocks):
        if block.language == "python":
            script = clone / f"guide_{number}.py"
            script.write_text(block.text, encoding="utf-8")
            _run(f"{shlex.quote(str(python or '.venv/bin/python'))} {script.name}", clone, environ)
            continue
        for line in _lines(block.text):
            _run(line, clone, environ)
    return _check("\n".join(b.text for b in blocks if b.language == "sh"), clone)


def _lines(text: str) -> list[str]:
    """Return the commands of a block; a backslash, or an open quote, joins lines."""
    commands, waiting = [], ""
    for line in text.splitlines():
        waiting += line
        if line.endswith("\\") or _is_open(waiting):
            waiting += "\n"
            continue
        commands.append(waiting)
        waiting = ""
    return [each for each in commands if each.partition("#")[0].strip()]


def _is_open(text: str) -> bool:
    syntax = subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False)
    return syntax.returncode != 0


def _environ(clone: Path, python: Path | None) -> dict[str, str]:
    """Return the environment of a user, or one in which make takes a Python that is there."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PYTHON"))}
    if python is None:
        return kept
    path = f"{python.parent}{os.pathsep}{kept.get('PATH', '')}"
    word = str(python).replace(" ", "\\ ")
    return kept | {"MAKEFLAGS": f"-- PYTHON={word}", "PYTHONPATH": str(clone), "PATH": path}


def _run(command: str, clone: Path, environ: Mapping[str, str]) -> None:
    print(f"$ {command}", flush=True)
    done = subprocess.run(
        ["bash", "-c", command], cwd=clone, env=environ, timeout=60 * MINUTES, check=False
    )
    if done.returncode:
        raise GuideError(f"ended with {done.returncode}: {command}")


def _check(commands: str, clone: Path) -> pd.DataFrame:
    """Return the last predictions, if they are classes of the table."""
    named = {name: _last(name, commands) for name in ("FILE", "TARGET", "OUT")}
    out = clone / named["OUT"]
    if not out.exists():
        raise GuideError(f"{named['OUT']} was not written")
    found = pd.read_parquet(out) if out.suffix == ".parquet" else pd.read_csv(out)
    classes = set(pd.read_csv(clone / named["FILE"])[named["TARGET"]].astype(str))
    scores = {f"probability_{name}" for name in classes}
    if not (scores <= set(found) or {str(v) for v in found.get("prediction", [None])} <= classes):
        raise GuideError(f"{named['OUT']}: {list(found)} name none of {sorted(classes)}")
    return found


def _last(name: str, commands: str) -> str:
    found = re.findall(rf"\b{name}=('[^']*'|\"[^\"]*\"|\S+)", commands)
    if not found:
        raise GuideError(f"the guide names no {name}=")
    return str(found[-1]).strip("'\"")


def main() -> int:
    """Clone, follow, say how it ended; return the exit code."""
    parser = argparse.ArgumentParser(
        prog=".venv/bin/python -m tools.follow_guide", description=__doc__
    )
    parser.add_argument("--page", default=GUIDE)
    parser.add_argument("--section", default=SECTION)
    parser.add_argument("--python", type=Path, help="whose packages are there; or make sets up")
    given = parser.parse_args()
    python = given.python and given.python.absolute()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, clone], check=True)
        page = (clone / given.page).read_text(encoding="utf-8")
        try:
            found = follow(read_blocks(page, given.section), clone, python)
        except GuideError as error:
            print(f"[guide] {error}", file=sys.stderr)
            return 1
    print(f"[guide] {len(found)} rows of predictions: {', '.join(map(str, found))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
