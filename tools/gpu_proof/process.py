"""A program in a process of its own, which is ended when its time is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import IO, Final

OVER: Final = -1000
"""In place of an exit code: the time was over."""
GRACE = 15.0
"""Seconds in which a program that was interrupted may write what it has."""
SETTINGS = {"SCIPY_ARRAY_API": "1", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
"""scikit-learn and SciPy read the first when they are imported; the others save a dying log."""


def run(words: list[str], output: IO[bytes], seconds: float) -> int:
    """Run a program, ``python`` being this one; return its exit code, a signal's negative, or OVER.

    Whatever it started ends with it.
    """
    child = subprocess.Popen(
        [sys.executable if word == "python" else word for word in words],
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**os.environ, **SETTINGS},
        start_new_session=True,
    )
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
        return OVER
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def said(code: int) -> str:
    """Return in words how a program ended."""
    return "its time was over" if code == OVER else f"exit code {code}"
