"""What this machine has, what is wrong with the environment, and how to fix it.

It imports none of the packages that it checks, so it is fast and also works where they
are broken.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from pipeline.optional import DISTRIBUTION, IN_REPOSITORY, PYTHON, version
from pipeline.system import devices, gpu, hardware

TIMEOUT_S = 120.0

_EXTRA_OF = {"cudf-cu13": "cu13", "cudf-cu12": "cu12", "cudf": "conda", "xgboost-cpu": "cpu"}
_CUDA_EXTRAS = ("cu12", "cu13", "conda")
_GPU_PROGRAM = """
import cudf, cupy, xgboost
assert int((cupy.arange(3) + 1).sum()) == 6, "cupy adds wrongly"
assert int(cudf.Series([1, 2, 3]).sum()) == 6, "cudf adds wrongly"
assert xgboost.build_info()["USE_CUDA"], "this build of xgboost has no CUDA"
print("cupy", cupy.__version__, "and cudf", cudf.__version__, "compute on the GPU")
"""


@dataclass(frozen=True)
class Problem:
    """What is wrong, and how to fix it; an error makes the environment unusable."""

    kind: Literal["error", "warning"]
    what: str
    fix: str


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """All that `.venv/bin/python -m pipeline doctor` says."""

    facts: Mapping[str, str]
    problems: Sequence[Problem]

    @property
    def usable(self) -> bool:
        """Whether nothing is broken; warnings do not count."""
        return all(problem.kind != "error" for problem in self.problems)

    def __repr__(self) -> str:
        """Return all of it as plain text."""
        problems = [
            f"{each.kind}: {each.what}\n    to fix it: {each.fix}" for each in self.problems
        ]
        lines = [f"{label:<11}{text}" for label, text in self.facts.items()]
        return "\n".join([*lines, "", *(problems or ["No problems."])])


def diagnose() -> Diagnosis:
    """Examine this machine and this environment.

    Takes under half a second, and up to two minutes where CUDA packages are
    tried out on a GPU.
    """
    found = gpu.probe()
    requirements = project_requirements()
    names = {*_EXTRA_OF, *(requirement.name for requirement in requirements)}
    versions = {name: known for name in sorted(names) if (known := version(name))}
    installed = installed_extra(versions)
    here = {name: value for name, value in os.environ.items() if name != "GPU"}
    fits, why = gpu.choose_extra(found, here)
    problems = [*package_problems(requirements, versions, installed)]
    problems += mismatch(installed, fits, why)
    tested, test_problems = _test_gpu(installed, gpu.why_unusable(found, os.environ))
    choice, host = devices.choose("auto"), hardware.describe()
    facts = {
        "Device": f"auto would use {choice.name} ({choice.why})",
        "Packages": f"{installed or 'none'} installed; {fits} fits this machine ({why})",
        "GPU": gpu.describe_probe(found).replace("\n", "\n" + " " * 11) or "none",
        "GPU test": tested,
        "System": host.system,
        "Python": f"{platform.python_version()} in {sys.prefix}",
        "Processor": f"{host.cpu}, {host.cores} of {host.cores_present} cores usable",
        "BLAS": describe_blas(host.cores, os.environ),
        "Memory": f"{_gib(host.memory_bytes)}, {_gib(host.memory_free_bytes)} free",
        "Disk": f"{_gib(shutil.disk_usage(Path.cwd()).free)} free",
    }
    return Diagnosis(facts, [*problems, *test_problems])


def describe_blas(cores: int, environ: Mapping[str, str]) -> str:
    """Return how many threads linear algebra has, and whether some may wait for others.

    >>> describe_blas(8, {"OPENBLAS_NUM_THREADS": "1"})
    'OPENBLAS_NUM_THREADS=1'
    >>> describe_blas(1, {})
    '1 thread'
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if environ.get(name):
            return f"{name}={environ[name]}"
    if cores == 1:
        return "1 thread"
    packages = [name for name in ("numpy", "scipy") if version(name)]
    own = [any("openblas" in str(f) for f in metadata.files(name) or ()) for name in packages]
    if own != [True, True]:
        return f"up to {cores} threads"
    return (
        f"NumPy and SciPy have a library each, with {cores} threads that stay busy for a while "
        "when idle; OPENBLAS_NUM_THREADS=1 may make plain scikit-learn faster"
    )


def project_requirements() -> list[Requirement]:
    """Return what the installed project declares; nothing where it is not installed."""
    declared = metadata.requires(DISTRIBUTION) if version(DISTRIBUTION) else ()
    return [Requirement(text) for text in declared or ()]


def installed_extra(versions: Mapping[str, str]) -> str:
    """Return cpu, cu12, cu13 or conda (CUDA packages without a suffix); empty if none is there.

    >>> installed_extra({"xgboost-cpu": "3.4.1", "numpy": "2.4.6"})
    'cpu'
    """
    return next((extra for name, extra in _EXTRA_OF.items() if name in versions), "")


def package_problems(
    requirements: Sequence[Requirement], versions: Mapping[str, str], extra: str
) -> Iterator[Problem]:
    """Yield an error for each package of an extra that is missing or not of the version wanted."""
    fix = _fix(extra, before="clean-venv ")
    if not requirements:
        what = "the project is not installed here, so its packages cannot be checked"
        yield Problem("warning", what, _fix())
    for wanted in requirements:
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        found = versions.get(wanted.name)
        if not found:
            yield Problem("error", f"{wanted.name} is not installed", fix)
        elif not wanted.specifier.contains(found, prereleases=True):
            what = f"{wanted.name} {found} is installed, but {wanted.specifier} is required"
            yield Problem("error", what, fix)


def mismatch(installed: str, fits: str, why: str) -> list[Problem]:
    """Return what is wrong with an installed extra on a machine that another one fits.

    >>> mismatch("cu12", "cu13", "driver 580.95.05, compute capability 9.0")
    []
    """
    fix = _fix(fits)
    if not installed:
        return [Problem("error", "no XGBoost and no CUDA packages are installed", fix)]
    if installed == "cpu" and fits != "cpu":
        what = f"there is a GPU ({why}), but only the CPU packages are installed"
        return [Problem("warning", what, fix)]
    if installed in _CUDA_EXTRAS and fits == "cpu":
        what = f"CUDA packages are installed, but no GPU can be used: {why}"
        return [Problem("warning", what, f"fix the driver, or {fix}")]
    if (installed, fits) == ("cu13", "cu12"):
        return [Problem("error", f"the cu13 packages do not fit this machine ({why})", fix)]
    return []


def _fix(extra: str = "", before: str = "") -> str:
    """Return the command that installs the packages of an extra."""
    if extra == "conda":
        return "create the conda environment again from environment.yml"
    if IN_REPOSITORY:
        gpu_ = f" GPU={extra}" if extra else ""
        return f"make {before}setup{gpu_}"
    return f"{PYTHON} -m pip install '{DISTRIBUTION}[{extra or 'cpu'}]'"


def _test_gpu(installed: str, obstacle: str) -> tuple[str, list[Problem]]:
    if installed not in _CUDA_EXTRAS:
        return "not run: no CUDA packages are installed", []
    if obstacle:
        return f"not run: {obstacle}", []
    failure, said = try_program(_GPU_PROGRAM)
    fix = _fix(installed, "clean-venv ")
    return said, [Problem("error", f"the test of the GPU failed: {said}", fix)] if failure else []


def try_program(program: str, timeout: float = TIMEOUT_S) -> tuple[bool, str]:
    """Run a Python program in a process of its own; return whether it failed, and its last line."""
    command = [sys.executable, "-c", program]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return True, f"no response within {timeout:g} s"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    return done.returncode != 0, lines[-1] if lines else f"exit code {done.returncode}"


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
