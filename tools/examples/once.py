"""One run of an example in a process of its own: what it prints, draws and calls."""

from __future__ import annotations

import os
import pickle
import runpy
import signal
import sys
import traceback
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot

from pipeline import accel

LIMITS = {"plain": 30, "accel": 60, "verify": 120}
"""Seconds that a run may take."""


@dataclass
class Run:
    """What came of a run."""

    error: str = ""
    printed: str = ""
    figures: list[Any] = field(default_factory=list)
    sites: list[Any] = field(default_factory=list)


def run(path: Path, way: str, folder: Path, device: str = "cpu") -> Run:
    """Run an example in a folder: plain, accelerated ("accel"), or compared, too ("verify")."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / f"{way}.pickle"
    result.unlink(missing_ok=True)
    child = get_context("fork").Process(target=_child, args=(path, way, folder, device, result))
    child.start()
    child.join(LIMITS[way])
    if child.exitcode is None:
        os.killpg(child.pid or 0, signal.SIGKILL)
        return Run(f"takes longer than {LIMITS[way]} s")
    if not result.exists():
        return Run(f"ended with {child.exitcode}")
    found: Run = pickle.loads(result.read_bytes())
    found.printed = (folder / f"{way}.out").read_text("utf-8", errors="replace")
    result.unlink()
    return found


def _child(path: Path, way: str, folder: Path, device: str, result: Path) -> None:
    os.setsid()
    os.chdir(folder)
    for number, stream in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{way}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    sys.argv[:], sys.path[0] = [str(path)], str(path.parent)
    matplotlib.use("Agg")
    if way != "plain":
        accel.install(device, min_size=0, verify=way == "verify")
    found = Run()
    try:
        runpy.run_path(str(path), run_name="__main__")
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        found.error = f"{type(error).__name__}: {error}"
    found.sites = list(accel.calls()) if way != "plain" else []
    accel.uninstall()
    found.figures = [_pixels(number) for number in pyplot.get_fignums()]
    result.write_bytes(pickle.dumps(found))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # whatever threads the example has left


def _pixels(number: int) -> Any:
    canvas: Any = pyplot.figure(number).canvas
    canvas.draw()
    return np.array(canvas.buffer_rgba())
