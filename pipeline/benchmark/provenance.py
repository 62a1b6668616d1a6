"""What a record says of the machine, the packages and the code."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib import metadata
from inspect import signature
from pathlib import Path
from pprint import pformat
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from pipeline import deprecated
from pipeline.benchmark.task import Task
from pipeline.data.files import digest, size
from pipeline.records import DataInfo, Gpu, Machine, Movement, Placement, Source
from pipeline.system import devices, gpu, hardware
from pipeline.trace import Entry

if TYPE_CHECKING:
    from pipeline.backends import base

PACKAGES = (
    "numpy", "pandas", "pyarrow", "scipy", "scikit-learn", "xgboost", "xgboost-cpu",
    "xgboost-cu13", "cudf-cu12", "cudf-cu13", "cuml-cu12", "cuml-cu13", "cupy-cuda12x",
    "cupy-cuda13x", "scikit-learn-intelex",
)  # fmt: skip
_WIDTH = 96
SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


def packages() -> dict[str, str]:
    """Return the versions of the packages that compute."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def threads() -> dict[str, str]:
    """Return the sizes of this process's thread pools, and the settings that bear on them."""
    from threadpoolctl import threadpool_info

    pools = {
        f"{pool['internal_api']} ({Path(pool['filepath']).name})": str(pool["num_threads"])
        for pool in threadpool_info()
    }
    return pools | {name: os.environ[name] for name in SETTINGS if name in os.environ}


def machine(pools: dict[str, str], load: float) -> Machine:
    """Return the record of this machine.

    Parameters
    ----------
    pools : dict
        What `threads` returned in the process that computed.
    load : float
        One-minute load average before the work began.
    """
    here, probe, why_not = hardware.describe(), gpu.probe(), devices.obstacle()
    return Machine(
        cpu=here.cpu,
        cores=here.cores,
        memory_bytes=here.memory_bytes,
        system=here.system,
        python=platform.python_version(),
        packages=packages(),
        threads=pools,
        load_before=load,
        gpus=[] if why_not else [_gpu(device, probe.driver) for device in probe.devices],
        no_gpu_why=why_not,
    )


def _gpu(device: gpu.Device, driver: str) -> Gpu:
    return Gpu(
        name=device.name,
        memory_bytes=device.memory_bytes or 0,
        driver=driver,
        compute_capability=".".join(map(str, device.compute_capability)),
    )


def source(command: list[str] | None = None) -> Source:
    """Return the revision of the code, and the command that reproduces the record."""
    words = command or ["python", "-m", "pipeline", *sys.argv[1:]]
    # What another measurement wrote just before is no change of the code.
    code = ("--untracked-files=no", "--", ":/", ":(top,exclude)docs/results")
    return Source(
        commit=_git("rev-parse", "HEAD") or "unknown",
        dirty=bool(_git("status", "--porcelain", *code)),
        command=shlex.join(words),
    )


def _git(*arguments: str) -> str:
    if not shutil.which("git"):
        return ""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def data(task: Task, path: Path) -> DataInfo:
    """Return the record of the data file, or of the folder of files."""
    return DataInfo(
        path=str(path),
        sha256=digest(path),
        bytes=size(path),
        licence=task.licence,
        source=task.source,
    )


def load_average() -> float:
    """Return how many processes wanted a processor, averaged over the last minute."""
    return os.getloadavg()[0]


def code(value: Any, indent: int = 0) -> str:
    """Return a spec as an expression, with each parameter that is not the default.

    Its repr would not do: scikit-learn leaves out what is after 700 characters.

    >>> from sklearn.linear_model import LogisticRegression
    >>> code(LogisticRegression(C=0.5, max_iter=100))
    'LogisticRegression(C=0.5)'
    """
    if isinstance(value, BaseEstimator):
        changed = _changed(value).items()
        parts = [f"{name}={code(part, indent + 4)}" for name, part in changed]
        return _enclosed(f"{type(value).__name__}(", parts, ")", indent)
    if isinstance(value, list | tuple) and any(isinstance(v, BaseEstimator | tuple) for v in value):
        opening, closing = "[]" if isinstance(value, list) else "()"
        return _enclosed(opening, [code(part, indent + 4) for part in value], closing, indent)
    return pformat(value, width=_WIDTH - indent, compact=True).replace("\n", "\n" + " " * indent)


def _changed(spec: BaseEstimator) -> dict[str, Any]:
    known = signature(type(spec)).parameters
    defaults = {name: parameter.default for name, parameter in known.items()}
    if "kwargs" in known:
        # XGBoost's classes do not name the parameters that they inherit.
        with deprecated.heard():
            defaults |= type(spec)().get_params(deep=False)
    found = spec.get_params(deep=False).items()
    return {name: v for name, v in found if repr(v) != repr(defaults.get(name))}


def _enclosed(opening: str, parts: list[str], closing: str, indent: int) -> str:
    line = opening + ", ".join(parts) + closing
    if "\n" not in line and len(line) + indent <= _WIDTH:
        return line
    inner = "".join(f"{' ' * (indent + 4)}{part},\n" for part in parts)
    return f"{opening}\n{inner}{' ' * indent}{closing}"


def placements(found: Iterable[base.Placement]) -> list[Placement]:
    """Return where the steps ran, as records."""
    return [
        Placement(step=p.step, implementation=p.implementation, device=p.device, note=p.note)
        for p in found
    ]


def movements(found: Iterable[Entry]) -> list[Movement]:
    """Return the entries of a ledger, as records."""
    return [Movement(**asdict(entry)) for entry in found]
