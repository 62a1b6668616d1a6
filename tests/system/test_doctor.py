from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from packaging.requirements import Requirement

from pipeline.cli.main import commands
from pipeline.system import doctor, hardware

CPU = {"numpy": "2.4.6", "xgboost-cpu": "3.2.0"}
CU13 = {"numpy": "2.4.6", "cudf-cu13": "26.10.2", "xgboost": "3.4.1"}
REQUIREMENTS = [
    Requirement("numpy<2.5,>=2.0"),
    Requirement('xgboost-cpu==3.2.*; extra == "cpu"'),
    Requirement('cudf-cu13==26.10.*; extra == "cu13"'),
    Requirement('old-thing>=1; python_version < "3"'),
]
HEALTHY = doctor.Diagnosis({"Device": "auto would use cpu", "Disk": "5.0 GiB free"}, [])


@pytest.mark.parametrize(
    ("versions", "extra"),
    [
        (CPU, "cpu"),
        (CU13, "cu13"),
        ({"cudf-cu12": "26.10.2", "xgboost-cu12": "3.4.1"}, "cu12"),
        ({"cudf": "26.10.2", "xgboost": "3.2.0"}, "conda"),
        ({"numpy": "2.4.6"}, ""),
    ],
)
def test_the_installed_extra_is_known_by_its_packages(versions, extra) -> None:
    assert doctor.installed_extra(versions) == extra


FIX = "make clean-venv setup GPU=cpu"


@pytest.mark.parametrize(
    ("versions", "extra", "expected"),
    [
        (CPU, "cpu", []),
        (CU13, "cu13", []),
        ({"xgboost-cpu": "3.2.0"}, "cpu", [("numpy is not installed", FIX)]),
        (
            {**CPU, "numpy": "2.5.0"},
            "cpu",
            [("numpy 2.5.0 is installed, but <2.5,>=2.0 is required", FIX)],
        ),
        (
            {"numpy": "2.5.0"},
            "",
            [("numpy 2.5.0 is installed, but <2.5,>=2.0 is required", FIX.partition(" GPU")[0])],
        ),
    ],
)
def test_missing_packages_and_versions_out_of_bounds_are_errors(versions, extra, expected) -> None:
    found = list(doctor.package_problems(REQUIREMENTS, versions, extra))
    assert found == [doctor.Problem("error", *each) for each in expected]


@pytest.mark.parametrize(
    ("installed", "fits", "kind", "fix"),
    [
        ("", "cu13", "error", "make setup GPU=cu13"),
        ("cpu", "cu13", "warning", "make setup GPU=cu13"),
        ("cpu", "cu12", "warning", "make setup GPU=cu12"),
        ("cu13", "cpu", "warning", "fix the driver, or make setup GPU=cpu"),
        ("conda", "cpu", "warning", "fix the driver, or make setup GPU=cpu"),
        ("cu13", "cu12", "error", "make setup GPU=cu12"),
    ],
)
def test_packages_that_do_not_fit_the_machine_are_reported(installed, fits, kind, fix) -> None:
    (problem,) = doctor.mismatch(installed, fits, "the reason")
    assert (problem.kind, problem.fix) == (kind, fix)


def test_the_text_has_device_machine_and_problems_with_their_fix() -> None:
    text = str(HEALTHY)
    assert text.splitlines()[:2] == ["Device     auto would use cpu", "Disk       5.0 GiB free"]
    assert text.endswith("\n\nNo problems.")
    problem = doctor.Problem("error", "numpy is not installed", "make setup")
    broken = str(replace(HEALTHY, problems=[problem]))
    assert broken.endswith("error: numpy is not installed\n    to fix it: make setup")
    assert "No problems" not in broken


def test_this_environment_is_examined(capsys, monkeypatch) -> None:
    machine = hardware.Hardware("Linux", "Some Processor 9000", 8, 2, 16 * 2**30, 8 * 2**30)
    monkeypatch.setattr(hardware, "describe", lambda: machine)
    with pytest.raises(SystemExit) as ended:
        commands(["doctor"])
    said = capsys.readouterr().out
    assert ended.value.code == int("error: " in said)
    assert "Some Processor 9000, 2 of 8 cores usable" in said
    assert "16.0 GiB, 8.0 GiB free" in said
    assert re.search(
        r"auto would use (cpu|cuda) .*\nPackages +(cpu|cu12|cu13|conda) installed", said
    )


OWN = {"numpy": ["numpy.libs/libscipy_openblas64_.so"], "scipy": ["scipy.libs/libopenblas.so"]}


@pytest.mark.parametrize(
    ("files", "cores", "environ", "said"),
    [
        (OWN, 4, {}, "a library each, with 4 threads"),
        (OWN, 1, {}, "1 thread"),
        (OWN, 4, {"OMP_NUM_THREADS": "2"}, "OMP_NUM_THREADS=2"),
        ({**OWN, "scipy": ["scipy/linalg/blas.py"]}, 4, {}, "up to 4 threads"),
    ],
)
def test_libraries_of_linear_algebra_that_wait_for_each_other_are_told(
    files, cores, environ, said, monkeypatch
) -> None:
    monkeypatch.setattr(doctor.metadata, "files", files.get)
    assert said in doctor.describe_blas(cores, environ)


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import sys; from pipeline.system import doctor; doctor.diagnose();"
        "print(*{'sklearn', 'pandas', 'numpy', 'xgboost', 'cudf', 'cupy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_a_program_that_hangs_is_killed() -> None:
    assert doctor.try_program("while True: pass", timeout=0.3) == (True, "no response within 0.3 s")
