"""pyproject.toml, the locks and environment.yml say the same."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = ("cpu", "cu12", "cu13")
GPU_PYTHONS = ("3.12", "3.13", "3.14")
PYTHONS = ("3.11", *GPU_PYTHONS)
PLACES = [
    (extra, python)
    for extra in EXTRAS
    for python in PYTHONS
    if python in GPU_PYTHONS or extra == "cpu"
]
PROCESSORS = ("x86_64", "aarch64")
PIN = re.compile(
    r"^(?P<pin>[^\s#][^\\]*?)(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})*)$", re.M
)
CONDA_NAMES = {"cuda-toolkit": "cuda-version"}


def pins(lock: str) -> dict[Requirement, str]:
    """Return requirement -> its hashes."""
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    return {Requirement(found["pin"]): found["hashes"] for found in PIN.finditer(text)}


def holds(wanted: Requirement, python: str, machine: str = "x86_64") -> bool:
    """Return whether a requirement is one on Linux with a Python."""
    where = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_python_implementation": "CPython",
    }
    return wanted.marker is None or wanted.marker.evaluate(where)


def versions(lock: str, python: str, machine: str = "x86_64") -> dict[str, str]:
    """Return name -> version of what a lock installs on Linux with a Python."""
    found = [pin for pin in pins(lock) if holds(pin, python, machine)]
    names = [pin.name for pin in found]
    assert len(names) == len(set(names)), f"{lock}.txt pins a package twice for Python {python}"
    return {pin.name: str(pin.specifier).removeprefix("==") for pin in found}


def declared(extra: str) -> list[Requirement]:
    """Return everything pyproject.toml asks for with an extra, the tools included."""
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    extras = project["optional-dependencies"]
    texts = project["dependencies"] + extras[extra] + extras["data"] + groups["dev"]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize(("extra", "python"), PLACES)
def test_a_lock_has_all_that_is_declared_within_its_bounds(extra, python) -> None:
    locked = versions(extra, python)
    wrong = [
        str(wanted)
        for wanted in declared(extra)
        if holds(wanted, python)
        and not wanted.specifier.contains(locked.get(canonicalize_name(wanted.name), "0"))
    ]
    assert wrong == [], "run `make lock`"


@pytest.mark.parametrize("lock", sorted(p.stem for p in (ROOT / "requirements").glob("*.txt")))
def test_every_pin_is_exact_and_hashed_and_none_names_an_address(lock) -> None:
    loose = [
        str(pin)
        for pin, hashes in pins(lock).items()
        if not hashes or not re.fullmatch(r"==[0-9][^*,]*", str(pin.specifier))
    ]
    assert loose == []
    assert len(pins(lock)) >= 2
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    assert re.findall(r"://|^-.*| @ |file:|^[./].*", text, re.MULTILINE) == []


@pytest.mark.parametrize("machine", PROCESSORS)
@pytest.mark.parametrize(
    ("extra", "xgboost", "nccl"),
    [
        ("cpu", "xgboost-cpu", []),
        ("cu12", "xgboost-cu12", ["nvidia-nccl-cu12"]),
        ("cu13", "xgboost", ["nvidia-nccl-cu13"]),
    ],
)
def test_one_xgboost_and_one_nccl_are_installed(extra, xgboost, nccl, machine) -> None:
    names = versions(extra, "3.12", machine)
    assert [name for name in names if name.startswith("xgboost")] == [xgboost]
    assert [name for name in names if name.startswith("nvidia-nccl")] == nccl


def test_every_file_of_the_library_is_packaged() -> None:
    patterns = ["*.py", *PROJECT["tool"]["setuptools"]["package-data"]["*"]]
    files = [p for p in (ROOT / "pipeline").rglob("*") if p.is_file() and p.suffix != ".pyc"]
    assert files
    assert [p.name for p in files if not any(fnmatch.fnmatch(p.name, x) for x in patterns)] == []


def conda_requirements() -> dict[str, SpecifierSet]:
    """Return name -> bounds of environment.yml, pip's part included."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = [line for entry in entries if isinstance(entry, dict) for line in entry["pip"]]
    texts = [entry for entry in entries if isinstance(entry, str)]
    # conda's `name=1.2` is pip's `name==1.2.*`
    texts = [re.sub(r"^([\w-]+)=([\d.]+)$", r"\1==\2.*", text) for text in texts]
    texts += [line for line in pip if not line.startswith("-")]
    return {found.name: found.specifier for found in map(Requirement, texts)}


def test_the_conda_environment_has_the_same_packages_with_the_same_bounds() -> None:
    wanted = {
        CONDA_NAMES.get(found.name, found.name): found.specifier for found in declared("cu13")
    }
    wanted = {name.removesuffix("-cu13"): bounds for name, bounds in wanted.items()}
    conda = conda_requirements()
    python, _pip = conda.pop("python"), conda.pop("pip")
    assert conda == wanted
    assert [v for v in (*PYTHONS, "3.15") if python.contains(v)] == [*GPU_PYTHONS]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["channels"] == ["rapidsai", "conda-forge"]
    assert "--editable ." in environment["dependencies"][-1]["pip"]
