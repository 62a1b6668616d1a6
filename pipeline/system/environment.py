"""What a record says about the machine, the packages and the revision of the code."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil

from pipeline import __version__
from pipeline.optional import COMMAND, INCLUDED, PYTHON, version
from pipeline.records import Gpu, Machine, Source
from pipeline.system import devices, gpu, hardware

PACKAGES = (
    "numpy", "pandas", "pyarrow", "scipy", "scikit-learn", "xgboost", "xgboost-cpu",
    "xgboost-cu12", "cudf-cu12", "cudf-cu13", "cuml-cu12", "cuml-cu13", "cupy-cuda12x",
    "cupy-cuda13x", "scikit-learn-intelex", "optuna", "polars", "skrub",
)  # fmt: skip
SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


def packages() -> dict[str, str]:
    """Return the versions of the packages that compute."""
    return {name: known for name in PACKAGES if (known := version(name))}


def threads() -> dict[str, str]:
    """Return the sizes of this process's thread pools, and the settings that bear on them."""
    from threadpoolctl import threadpool_info

    pools = {
        f"{pool['internal_api']} ({Path(pool['filepath']).name})": str(pool["num_threads"])
        for pool in threadpool_info()
    }
    return pools | {name: os.environ[name] for name in SETTINGS if name in os.environ}


def machine(pools: dict[str, str], load: float) -> Machine:
    """Return the record of this machine, with what `threads` and `load_average` returned."""
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
        gpus=[
            Gpu(
                name=each.name,
                memory_bytes=each.memory_bytes or 0,
                driver=probe.driver,
                compute_capability=".".join(map(str, each.compute_capability)),
            )
            for each in (() if why_not else probe.devices)
        ],
        no_gpu_why=why_not,
    )


def source(words: Sequence[str], module: str = "pipeline") -> Source:
    """Return the revision of the code, and the command of these words that makes the record."""
    # The results of a measurement just before are not a change of the code.
    code = ("--untracked-files=no", "--", ":/", ":(top,exclude)docs/results")
    command = COMMAND if module == "pipeline" else f"{PYTHON} -m {module}"
    command = without_password(f"{command} {shlex.join(words)}") if words else ""
    if INCLUDED.is_dir():  # the repository around it, if any, is another project's
        return Source(commit=f"of version {__version__}", dirty=False, command=command)
    return Source(
        commit=_git("rev-parse", "HEAD") or "unknown",
        dirty=bool(_git("status", "--porcelain", *code)),
        command=command,
    )


def without_password(text: str) -> str:
    """Return a text without the user, the password and the query of a URI in it.

    >>> without_password("--track https://me:secret@host:5000/?password=secret")
    '--track https://host:5000/'
    """
    return re.sub(r"(://)(?:[^/\s]*@)?([^?\s]*)(?:\?\S*)?", r"\1\2", text)


def _git(*arguments: str) -> str:
    if not shutil.which("git"):
        return ""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def load_average() -> float:
    """Return how many processes wanted a processor, averaged over the last minute."""
    return psutil.getloadavg()[0]
