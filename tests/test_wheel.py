"""The wheel by itself: in an empty folder every command runs, and hints name the command.

`make release` sets PYTEST_WHEEL_PYTHONS, and it is installed with all it needs for these. Else
it is put beside the packages of this Python.
"""

from __future__ import annotations

import csv
import os
import shutil
import site
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import pipeline

ROOT = Path(__file__).parents[1]
STRANGER = "raise ImportError('the package of another project')"
OWN = "my table.csv"
RELEASE = "PYTEST_WHEEL_PYTHONS" in os.environ
TASK = "flights" if RELEASE else "breast_cancer"


def run(*words: str | Path, cwd: Path, bin: Path | None = None) -> str:
    path = f"{bin}{os.pathsep}{os.defpath}" if bin else os.environ["PATH"]
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env={"HOME": os.environ["HOME"], "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def pythons() -> list[str]:
    """Return the Pythons to install the wheel for, of PYTEST_WHEEL_PYTHONS one of each version."""
    found = {}
    for name in os.environ.get("PYTEST_WHEEL_PYTHONS", "").split():
        asked = [name, "-c", "import sys; print(sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if shutil.which(name) and done.returncode == 0:
            found.setdefault(done.stdout, name)
    return [*found.values()] or [sys.executable]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if released := sorted((ROOT / "dist").glob("*.whl")) if RELEASE else ():
        return released[0]
    source = tmp_path_factory.mktemp("source")
    for name in ("pipeline", "tasks", "datasets"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", source)
    run(sys.executable, "-m", "pip", *build, cwd=source)
    return next(source.glob("*.whl"))


@pytest.fixture(scope="module", params=pythons())
def installed(request, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the commands of an environment that has the wheel."""
    venv = tmp_path_factory.mktemp("wheel") / "venv"
    pip = (sys.executable, "-m", "pip", "--python", venv / "bin/python", "install", "--quiet")
    if request.param == sys.executable:
        run(request.param, "-m", "venv", "--without-pip", venv, cwd=ROOT)
        run(*pip, "--no-deps", "--no-index", wheel, cwd=venv)
        packages = next(venv.glob("lib/*/site-packages"))
        (packages / "others.pth").write_text("\n".join(site.getsitepackages()))
    else:
        run(request.param, "-m", "venv", venv, cwd=ROOT)
        run(*pip, f"{wheel}[cluster,cpu,data,explain,tune]", cwd=venv)
        packages = next(venv.glob("lib/*/site-packages"))
    for name in ("tasks", "datasets"):
        (packages / f"{name}.py").write_text(STRANGER)
    return venv / "bin"


@pytest.mark.slow
def test_every_command_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    def gpu_pipeline(*words: str) -> str:
        return run("gpu-pipeline", *words, cwd=tmp_path, bin=installed)

    quick = ("--device", "cpu", "--repeats", "3", "--pipelines")
    listed = gpu_pipeline("list")
    for name in (path.stem for path in (ROOT / "tasks").glob("[a-z]*.py")):
        assert f"\n{name} " in f"\n{listed}"
    assert "not listed" not in listed
    assert "auto would use" in gpu_pipeline("doctor")
    assert "logisticregression" in gpu_pipeline("explain", "flights", "--device", "cpu")
    assert f"data/{TASK}/{TASK}.parquet" in gpu_pipeline("data", TASK)
    said = gpu_pipeline("report", TASK, *quick, "logistic")
    (tmp_path / OWN).write_text(
        "age,city,y\n"
        + "".join(f"{i % 60},{'Rom' if i % 3 else ''},{i % 7 > 2}\n" for i in range(300))
    )
    said += gpu_pipeline("new-task", OWN, "y", "--name", "own")
    said += gpu_pipeline("report", "own", *quick, "boosting")
    said += gpu_pipeline("run", "own", "--device", "cpu")
    said += gpu_pipeline("tune", "own", "--device", "cpu", "--pipelines", "linear", "--trials", "2")
    said += gpu_pipeline("gallery")
    assert "trained on cpu" in gpu_pipeline("models")
    said += gpu_pipeline("predict", "runs/own/boosting.model", OWN, "out.csv")
    rows = [*csv.DictReader((tmp_path / "out.csv").read_text("utf-8").splitlines())]
    assert len(rows) == 300
    assert {row["prediction"] for row in rows} == {"true", "false"}
    pages = [tmp_path / "reports" / name / "index.html" for name in (TASK, "own")]
    said += "".join(page.read_text("utf-8") for page in pages)
    assert "gpu-pipeline predict" in said
    assert [way for way in (".venv", "make ", "python -m", str(ROOT)) if way in said] == []
    assert "logistic" in run("python", "-m", "pipeline", "explain", "digits", cwd=tmp_path,
                             bin=installed)  # fmt: skip


@pytest.mark.slow
def test_the_library_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    program = (
        "import pipeline; from pipeline.task.task import load;"
        "print(pipeline.__file__, load('newsgroups_mixed').pipeline('trees', 0)[-1])"
    )
    said = run("python", "-c", program, cwd=tmp_path, bin=installed)
    assert said.startswith(str(installed.parent))
    assert "XGBClassifier" in said


def test_a_version_is_the_same_everywhere() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert cited["version"] == pipeline.__version__
    assert f"## {pipeline.__version__} ({cited['date-released']})\n" in changes
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (cited["license"], cited["title"]) == (project["license"], project["name"])
