from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from packaging.requirements import Requirement

from pipeline.system import doctor, gpu, hardware

CPU = {"numpy": "2.4.6", "xgboost-cpu": "3.2.0"}
CU13 = {"numpy": "2.4.6", "cudf-cu13": "26.10.2", "xgboost": "3.4.1"}
REQUIREMENTS = [
    Requirement("numpy<2.5,>=2.0"),
    Requirement('xgboost-cpu==3.2.*; extra == "cpu"'),
    Requirement('cudf-cu13==26.10.*; extra == "cu13"'),
    Requirement('old-thing>=1; python_version < "3"'),
]
HEALTHY = doctor.Diagnosis(
    device="cpu",
    device_why="no driver",
    extra_installed="cpu",
    extra_fits="cpu",
    extra_why="no driver",
    python="3.12.1 in somewhere",
    disk_free_bytes=5 * 2**30,
    machine=hardware.Hardware("Linux", "Some Processor 9000", 8, 2, 16 * 2**30, 8 * 2**30),
    gpu=gpu.Probe(why_not="no driver"),
    gpu_test="not run: no CUDA packages are installed",
    packages=(doctor.Package("numpy", "2.4.6", ">=2"), doctor.Package("gone", "", ">=1")),
    problems=(),
)


def problems_of(versions: dict[str, str], extra: str) -> list[doctor.Problem]:
    packages = list(doctor.wanted_packages(REQUIREMENTS, versions, extra))
    return list(doctor.package_problems(packages, extra))


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


@pytest.mark.parametrize(("versions", "extra"), [(CPU, "cpu"), (CU13, "cu13")])
def test_what_is_wanted_and_there_is_no_problem(versions, extra) -> None:
    assert problems_of(versions, extra) == []


def test_only_the_packages_of_the_installed_extra_are_wanted() -> None:
    names = [package.name for package in doctor.wanted_packages(REQUIREMENTS, CU13, "cu13")]
    assert names == ["numpy", "cudf-cu13"]


def test_a_missing_package_is_an_error_with_the_command_that_mends_it() -> None:
    (problem,) = problems_of({"xgboost-cpu": "3.2.0"}, "cpu")
    assert (problem.kind, problem.what) == ("error", "numpy is not installed")
    assert problem.fix == "make clean-venv setup GPU=cpu"


def test_a_version_out_of_bounds_is_an_error_that_names_both() -> None:
    (problem,) = problems_of({**CPU, "numpy": "2.5.0"}, "cpu")
    assert problem.kind == "error"
    assert "2.5.0" in problem.what
    assert "<2.5" in problem.what


def test_an_unknown_project_is_a_warning_not_a_clean_bill() -> None:
    (problem,) = doctor.package_problems([], "cpu")
    assert (problem.kind, problem.fix) == ("warning", "make setup")


@pytest.mark.parametrize(
    "versions",
    [
        {"nvidia-nccl-cu12": "2", "nvidia-nccl-cu13": "2"},
        {"xgboost": "3.2.0", "xgboost-cpu": "3.2.0"},
        {"xgboost-cu12": "3.4.1", "xgboost": "3.4.1"},
        {"cudf-cu12": "26.10.2", "cudf-cu13": "26.10.2"},
    ],
)
def test_packages_that_own_the_same_files_are_an_error(versions) -> None:
    (problem,) = doctor.clashes(versions)
    assert problem.kind == "error"
    assert all(name in problem.what for name in versions)


@pytest.mark.parametrize(
    "versions", [CPU, CU13, {"xgboost-cu12": "3.4.1", "nvidia-nccl-cu12": "2"}]
)
def test_one_of_each_does_not_clash(versions) -> None:
    assert list(doctor.clashes(versions)) == []


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
def test_packages_that_do_not_fit_the_machine_are_told(installed, fits, kind, fix) -> None:
    (problem,) = doctor.mismatch(installed, fits, "the reason")
    assert (problem.kind, problem.fix) == (kind, fix)


@pytest.mark.parametrize("pair", [("cpu", "cpu"), ("cu12", "cu13"), ("conda", "cu12")])
def test_packages_that_fit_are_no_problem(pair) -> None:
    assert doctor.mismatch(*pair, "the reason") == []


def test_a_program_that_works_is_quoted() -> None:
    assert doctor.try_program("print('first'); print('it computes')") == (False, "it computes")


def test_a_program_that_fails_is_quoted_by_its_last_line() -> None:
    failed, said = doctor.try_program("raise RuntimeError('cudaErrorInsufficientDriver')")
    assert (failed, said) == (True, "RuntimeError: cudaErrorInsufficientDriver")


def test_a_program_that_dies_without_a_word_is_a_failure() -> None:
    failed, said = doctor.try_program("import os; os.kill(os.getpid(), 9)")
    assert (failed, said) == (True, "it ended with -9")


def test_a_program_that_hangs_is_killed() -> None:
    assert doctor.try_program("while True: pass", timeout=0.3) == (True, "no answer in 0.3 s")


def test_a_warning_leaves_the_environment_usable_and_an_error_does_not() -> None:
    warning = doctor.Problem("warning", "what", "fix")
    error = doctor.Problem("error", "what", "fix")
    assert HEALTHY.usable
    assert replace(HEALTHY, problems=(warning,)).usable
    assert not replace(HEALTHY, problems=(warning, error)).usable


def test_the_text_tells_device_machine_packages_and_that_all_is_well() -> None:
    text = doctor.format_diagnosis(HEALTHY)
    for part in (
        "auto would use cpu (no driver)",
        "2 of 8 cores usable",
        "16.0 GiB, 8.0 GiB free",
        "No problems found.",
    ):
        assert part in text
    assert ["gone", "missing", ">=1"] in [line.split() for line in text.splitlines()]


def test_the_text_gives_each_problem_its_mend() -> None:
    problem = doctor.Problem("error", "numpy is not installed", "make setup")
    text = doctor.format_diagnosis(replace(HEALTHY, problems=(problem,)))
    assert text.endswith("error: numpy is not installed\n    to fix it: make setup")
    assert "No problems" not in text


def test_this_environment_is_examined(capsys) -> None:
    code = doctor.print_diagnosis(json=True)
    said = json.loads(capsys.readouterr().out)
    broken = any(problem["kind"] == "error" for problem in said["problems"])
    assert code == int(broken)
    assert said["device"] in ("cpu", "cuda")
    assert said["extra_installed"]


def test_a_wrong_variable_is_a_problem_of_its_own(monkeypatch) -> None:
    monkeypatch.setenv("GPU", "cu99")
    problems = doctor.diagnose().problems
    assert ("unset GPU", True) in [(p.fix, "cu99" in p.what) for p in problems]


def test_with_the_gpu_hidden_nothing_is_tried_on_it_and_the_reason_given(monkeypatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert doctor.diagnose().gpu_test.startswith("not run: ")


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import sys; from pipeline.system import doctor; doctor.diagnose();"
        "print(*{'sklearn', 'pandas', 'numpy', 'xgboost', 'cudf', 'cupy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
