"""The command line in this process or in one of its own, and what is checked of every fault."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.cli import main
from pipeline.system.atomic import publishing

ROOT = Path(__file__).parents[1]
OLD = "the results of an earlier run"


class Done(NamedTuple):
    """What a command said, and the code it ended with."""

    code: int
    out: str
    err: str


def call(*arguments: object, root: Path = ROOT) -> Done:
    """Run a command in this process, by default from the root of the repository."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(root)
        patch.setattr(sys, "argv", ["pipeline", *map(str, arguments)])
        try:
            main.main()
        except SystemExit as end:
            code = end.code or 0
    return Done(int(str(code)), out.getvalue(), err.getvalue())


def parse(verb: str, *words: str) -> dict[str, object]:
    """Return the options of a command as they are read, without running it."""
    above = main.commands.make_context("pipeline", [verb])
    return main.commands.commands[verb].make_context(verb, list(words), parent=above).params


def python(*arguments: object) -> Done:
    """Run this Python in a process of its own, from the root of the repository."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, cwd=ROOT, timeout=600, check=False,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@contextmanager
def started(
    *arguments: object, cwd: Path = ROOT, **options: object
) -> Iterator[subprocess.Popen[str]]:
    """Start this Python in a process group of its own; it ends with the block.

    It ignores no signal, whatever the tests themselves ignore, as under `nohup`.
    """
    options.setdefault("preexec_fn", heed_signals)
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
        env=os.environ | {"PYTHONPATH": f"{cwd}{os.pathsep}{ROOT}"},
        start_new_session=True, **options,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def heed_signals() -> None:
    """Ignore no signal that ends a process."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def assert_one_message(done: Done, code: int, *words: str, lines: int = 1) -> None:
    """Check that a command ended with a code and one message on stderr that has some words."""
    assert done.code == code, done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == lines, done.err
    for word in words:
        assert word in done.err
    assert "results:" not in done.out


def old_results(folder: Path) -> Path:
    """Publish results, to see whether they survive; return the folder."""
    with publishing(folder) as draft:
        (draft / "record.json").write_text(OLD)
    return folder


def intact(folder: Path) -> bool:
    """Return whether the old results are there, and nothing beside them."""
    beside = {path.name for path in folder.parent.iterdir()}
    return beside == {folder.name} and (folder / "record.json").read_text() == OLD


class Tty(io.StringIO):
    """Takes what is written, as a terminal."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True
