"""The Makefile and the checks, without setting anything up and without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from shlex import quote

import pytest
import yaml

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
PHONY = re.findall(r"^\.PHONY:((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
TARGETS = sorted({word for line in PHONY for word in line.replace("\\", " ").split()})
HIDDEN = {"setup-contract", "fetched"}

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments: str, root: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    # The variables of a make that runs these tests must not reach the one under test.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    kept |= {"GPU": "auto", **environ}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=root, env=kept, capture_output=True, text=True, check=False,
    )  # fmt: skip


def commands(*arguments: str, **environ: str) -> list[str]:
    done = make("--dry-run", *arguments, **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_make_alone_lists_every_target_and_variable() -> None:
    shown = make().stdout
    targets = re.findall(r"^  make ([a-z-]+) +\S", shown, re.MULTILINE)
    assert sorted(targets) == sorted(set(TARGETS) - HIDDEN)
    variables = re.findall(r"^  ([A-Z3]+)=\S* .*\w", shown, re.MULTILINE)
    assert {"TASK", "DEVICE", "SEED", "ROWS", "OUT", "ARGS", "GPU", "PYTHON3"} <= {*variables}


@pytest.mark.parametrize("target", TARGETS)
def test_no_target_uses_an_undefined_variable(target) -> None:
    done = make("--dry-run", target)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("target", ["doctor", "list", "data", "new-task", "tune", "test"])
def test_every_target_sets_up_first(target) -> None:
    assert commands(target)[0].startswith("python=$(tools/find-python 3.11 python3 ")
    assert commands(target, GPU="cu12")[0].endswith(" --gpu 'cu12'")
    assert not any("setup.py" in line for line in commands(target, "PYTHON=python"))


@pytest.mark.parametrize(
    ("arguments", "last"),
    [
        (["report"], "report 'flights' --device 'auto' --seed '0'"),
        (
            ["report", "DEVICE=cpu", "SEED=7", "OUT=a folder", "PIPELINES=a,b", "REPEATS=3",
             "ROWS=1e6", "ARGS=--sizes 0.1"],
            "report 'flights' --rows '1e6' --device 'cpu' --pipelines 'a,b' --seed '7' "
            "--repeats '3' --out 'a folder' --sizes 0.1",
        ),
        (["run", "TASK=airline", "YEARS=2006-2019"],
         "run 'airline' --years '2006-2019' --device 'auto' --seed '0'"),
        (["tune", "ARGS=--trials 9"], "tune 'flights' --device 'auto' --seed '0' --trials 9"),
        (["data", "TASK=higgs", "ARGS=--from 'my file.gz'"], "data 'higgs' --from 'my file.gz'"),
        (["predict", "DEVICE=cpu", "ARGS=m i o"], "predict --device 'cpu' m i o"),
        (["gallery", "OUT=x"], "gallery --out 'x'"),
        (["explain", "ARGS=--json"], "explain 'flights' --device 'auto' --json"),
        (["new-task", "ARGS=my.csv price --kind binary"], "new-task my.csv price --kind binary"),
    ],
)  # fmt: skip
def test_the_variables_reach_the_command(arguments, last) -> None:
    lines = commands(*arguments)
    assert lines[-1].strip() == f"'.venv/bin/python' -m pipeline {last}"
    fetched = arguments[0] in ("run", "compare", "report", "tune")
    assert any(" -m pipeline data '" in line for line in lines[:-1]) == fetched


@pytest.mark.parametrize(
    ("given", "near"),
    [("TASk=flights", "TASK"), ("device=cpu", "DEVICE"), ("PIPELINE=a b", "PIPELINES"), ("X=", "")],
)
def test_a_variable_that_does_not_exist_is_an_error(given: str, near: str) -> None:
    done = make("--dry-run", "report", given)
    assert (done.returncode, done.stdout) == (2, "")
    guess = f" did you mean {near}?" if near else ""
    assert f"unknown variable {given.partition('=')[0]};{guess} see `make help`" in done.stderr


def test_variables_of_make_itself_and_words_within_values_are_no_unknown_ones() -> None:
    lines = commands("list", "SHELL=/bin/bash", "ARGS=--set a__b=1 XYZ=2", "PYTHON=python")
    assert lines[-1].endswith("list --set a__b=1 XYZ=2")


ODD = ["it's", 'a "b"', "$HOME", "$(touch pwned)", "`touch pwned`", "a b;c&d", "\\n", "#x", "ü", ""]


def test_any_word_reaches_the_command_through_the_shell(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    fake = tmp_path / "a fake"
    fake.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    fake.chmod(0o755)
    given = " ".join(map(quote, ODD)).replace("$", "$$")
    done = make("--silent", "new-task", f"PYTHON=./{fake.name}", f"ARGS={given}", root=tmp_path)
    assert done.stdout.split("\n")[:-1] == ["-m", "pipeline", "new-task", *ODD]
    assert [*tmp_path.rglob("pwned")] == []


@pytest.mark.parametrize("target", ["test", "test-full"])
def test_tests_come_after_style_and_types(target) -> None:
    text = "\n".join(commands(target))
    order = [text.index(word) for word in ("ruff check", "ruff format", "mypy", "pytest")]
    assert order == sorted(order)


def test_each_commit_is_checked_as_the_continuous_integration_does() -> None:
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    called = [re.search(r"for target in ([a-z-]+)", (ROOT / ".ci/run").read_text())[1]]
    full = commands(*called)
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        tool, target = hook["entry"].split()
        assert (tool, target in TARGETS) == ("make", True)
        assert set(commands(target)) <= set(full)
    assert [hook["id"] for hook in repo["hooks"]] == ["lint", "types"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["test", "PYTHON=false"], ""), (["setup", "PYTHON3=no-such"], "needs Python 3.11 to 3.14")],
)
def test_a_failing_step_stops_the_rest_and_says_why(tmp_path, arguments, says) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    done = make(*arguments, root=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert not any(word in done.stdout for word in ("ruff format", "pytest"))
    assert not (tmp_path / ".venv").exists()


def test_clean_removes_environments_and_caches_and_nothing_else(tmp_path) -> None:
    made = [
        ".venv/pyvenv.cfg",
        ".venv-contract/pyvenv.cfg",
        ".mypy_cache/x",
        "pipeline/__pycache__/x",
    ]
    kept = ["runs/flights/record.json", "data/flights/flights.parquet", "my-venv/bin/python",
            "datasets/x", "tasks/x", "tests/x", "tools/x"]  # fmt: skip
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (*made, *kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine")
    assert make("clean", root=tmp_path).returncode == 0
    assert not [name for name in made if (tmp_path / name).parent.exists()]
    assert not [name for name in kept if not (tmp_path / name).exists()]
