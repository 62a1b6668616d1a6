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
TARGETS = sorted(set(re.findall(r"^\.PHONY: ([a-z-]+)$", MAKEFILE, re.MULTILINE)))

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


@pytest.fixture
def copy(tmp_path) -> Path:
    """Return a folder with the Makefile and what it calls to set up."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    return tmp_path


def test_make_alone_lists_every_target_with_a_word_on_it() -> None:
    listed = re.findall(r"^  make ([a-z-]+) +\S", make().stdout, re.MULTILINE)
    assert sorted(listed) == sorted(set(TARGETS) - {"setup-contract"})


@pytest.mark.parametrize("target", TARGETS)
def test_no_target_uses_an_undefined_variable(target) -> None:
    done = make("--dry-run", target)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "target", ["doctor", "list", "data", "run", "compare", "report", "tune", "test"]
)
def test_every_target_sets_up_first(target) -> None:
    assert re.search(r"tools/setup.py .*--venv \.venv --extra 'auto'$", commands(target)[0])


@pytest.mark.parametrize("target", ["test-contract", "contract-snapshot"])
def test_the_contract_has_an_environment_of_its_own(target) -> None:
    first, *_, last = commands(target)
    assert re.search(r"tools/setup.py .*--venv \.venv-contract --extra cu13$", first)
    assert last.startswith(".venv-contract/bin/python -m ")


@pytest.mark.parametrize("target", ["run", "compare", "report", "tune"])
def test_the_data_is_there_before_it_is_used(target) -> None:
    *_, data, last = commands(target, "TASK=other")
    assert data == "'.venv/bin/python' -m pipeline data 'other'"
    assert last.startswith(f"'.venv/bin/python' -m pipeline {target} 'other' ")


@pytest.mark.parametrize(
    ("arguments", "last"),
    [
        (
            ["report", "DEVICE=cpu", "SEED=7", "OUT=a folder", "PIPELINES=a,b", "REPEATS=3"],
            "report 'flights' --device 'cpu' --seed '7' --out 'a folder' --pipelines 'a,b' "
            "--repeats '3'",
        ),
        (["report"], "report 'flights' --device 'auto' --seed '0'"),
        (
            ["tune", "PIPELINES=boosting", "TRIALS=9", "TIMEOUT=60", "OPTIONS=--cv 3"],
            "tune 'flights' --device 'auto' --seed '0' --pipelines 'boosting' --trials '9' "
            "--timeout '60' --cv 3",
        ),
        (["data", "TASK=higgs", "FROM=my file.gz"], "data 'higgs' --from 'my file.gz'"),
    ],
)
def test_the_variables_reach_the_command(arguments, last) -> None:
    assert commands(*arguments)[-1].strip() == f"'.venv/bin/python' -m pipeline {last}"


ODD = [
    "it's",
    'a "b"',
    "$HOME",
    "$(shell touch pwned)",
    "`touch pwned`",
    "a b;c&d",
    "\\n",
    "#x",
    "ü",
]
OPTION_OF = {
    "OUT": "--out", "PIPELINES": "--pipelines", "FROM": "--from", "DEVICE": "--device",
    "TRIALS": "--trials", "TIMEOUT": "--timeout",
}  # fmt: skip


@pytest.mark.quick(48)
@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize(
    ("target", "variables"),
    [
        ("run", ["TASK", "DEVICE", "OUT", "PIPELINES"]),
        ("report", ["TASK", "DEVICE", "OUT", "PIPELINES"]),
        ("tune", ["TASK", "TRIALS", "TIMEOUT"]),
        ("data", ["TASK", "FROM"]),
        ("explain", ["TASK", "DEVICE", "PIPELINES"]),
        ("gallery", ["DEVICE", "OUT"]),
    ],
)
def test_any_value_reaches_the_command_as_it_is(
    tmp_path: Path, target: str, variables: list[str], value: str
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    fake.chmod(0o755)
    given = [f"{name}={value}" for name in variables]
    done = make("--silent", target, "PYTHON=./fake", *given, root=tmp_path)
    words = done.stdout.rpartition(f"\n{target}\n")[2].splitlines()
    assert done.returncode == 0, done.stderr
    for name in variables:
        assert words[words.index(OPTION_OF[name]) + 1 if name in OPTION_OF else 0] == value
    assert [*tmp_path.rglob("pwned")] == []


def test_stray_variables_of_the_shell_change_nothing() -> None:
    stray = {"OUT": "/elsewhere", "TASK": "x", "SEED": "9", "PYTHON": "python2", "VENV": "/v"}
    assert commands("run", **stray) == commands("run")


def test_packages_and_pythons_can_be_chosen() -> None:
    (line,) = commands("setup", "PYTHON3=python3 mine", GPU="cu12")
    assert line.startswith("python=$(tools/find-python python3 mine) && ")
    assert "--pythons 'python3 mine'" in line
    assert "--extra 'cu12'" in line
    lines = commands("report", "PYTHON=python")
    assert not any("setup.py" in line for line in lines)
    assert lines[-1].startswith("'python' -m pipeline report")


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
    ("arguments", "says", "absent"),
    [
        (["test", "PYTHON=false"], "", ["ruff format", "pytest"]),
        (["setup", "PYTHON3=no-such-python"], "needs Python 3.11 to 3.14", []),
        (["lock", "UV=no-such-uv"], "make lock needs uv", []),
    ],
)
def test_a_failing_step_stops_the_rest_and_says_why(copy, arguments, says, absent) -> None:
    done = make(*arguments, root=copy)
    assert done.returncode == 2
    assert says in done.stderr
    assert not [word for word in absent if word in done.stdout]
    assert not (copy / ".venv").exists()


MADE = [".venv/pyvenv.cfg", ".venv-contract/pyvenv.cfg", ".mypy_cache/x", "pipeline/__pycache__/x"]
DATA = [
    "flights/manifest.json",
    "flights/flights.parquet",
    "flights/.sizes/50bdb69b95b60956-0.1-seed0.parquet",
    "flights/.sizes/50bdb69b95b60956-0.3-seed0.part",
    "synthetic/binary/_manifest.json",
    "synthetic/binary/part-0.parquet",
    "raw/higgs/HIGGS.csv.gz",
    ".flights.lock",
]
FOREIGN = [
    "runs/flights/record.json",
    "reports/flights/index.html",
    "build/plan.dwg",
    "data/mine.csv",
    "data/flights/notes.txt",
    "data/flights/.sizes/notes.txt",
    "data/other/other.parquet",
    "data/part-1.parquet",
    "my-venv/bin/python",
]


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine")


@pytest.fixture
def used(copy) -> Path:
    """Return a copy with environments, caches and data."""
    for folder in ("pipeline", "datasets", "tasks", "tests"):
        (copy / folder).mkdir()
    write(copy, *MADE, *(f"data/{name}" for name in DATA))
    return copy


def test_clean_removes_environments_and_caches_and_never_data(used) -> None:
    assert make("clean", root=used).returncode == 0
    assert not [name for name in MADE if (used / name).parent.exists()]
    assert not [name for name in DATA if not (used / "data" / name).exists()]


def test_data_is_removed_only_by_name(used) -> None:
    assert make("clean-data", root=used).returncode == 0
    assert not (used / "data").exists()
    assert not [name for name in MADE if not (used / name).exists()]
    assert make("clean-data", root=used).returncode == 0


def test_clean_never_removes_what_it_did_not_make(used, tmp_path_factory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(elsewhere, *DATA, "manifest.json", "linked.parquet")
    write(used, *FOREIGN)
    (used / "data" / "linked").symlink_to(elsewhere)
    before = set(elsewhere.rglob("*"))
    for target in ("clean", "clean-data"):
        assert make(target, root=used).returncode == 0
    assert [name for name in FOREIGN if (used / name).read_text() != "mine"] == []
    left = {str(path.relative_to(used)) for path in (used / "data").rglob("*") if path.is_file()}
    assert left == {name for name in FOREIGN if name.startswith("data")}
    (used / "mine").symlink_to(elsewhere)
    shutil.rmtree(used / "data")
    (used / "mine").rename(used / "data")
    assert make("clean-data", root=used).returncode == 0
    assert set(elsewhere.rglob("*")) == before


@pytest.mark.parametrize(
    ("failing", "called", "code"),
    [
        ("", "test-full test-sklearn test-contract test test", 0),
        ("test-full", "test-full", 7),
        ("test-sklearn", "test-full test-sklearn", 7),
        ("test-contract", "test-full test-sklearn test-contract", 7),
        ("test", "test-full test-sklearn test-contract test", 7),
    ],
)
def test_the_checks_run_all_parts_and_fail_with_any(tmp_path, failing, called, code) -> None:
    called_here = quote(str(tmp_path / "called"))
    for name, text in {
        "make": f'echo "$1" >> {called_here}; [ "$1" != "{failing}" ] || exit 7',
        "git": 'for folder; do :; done; mkdir -p "$folder"',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [ROOT / ".ci" / "run"], cwd=tmp_path, env=environ, capture_output=True, check=False
    )
    assert done.returncode == code
    assert (tmp_path / "called").read_text().split() == called.split()


@pytest.mark.parametrize("unsound", ["", "bench", "tables"])
def test_every_lock_is_audited_whichever_is_unsound(tmp_path: Path, unsound: str) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    fake = tmp_path / "fake"
    fake.write_text(f'#!/bin/sh\necho "asked: $*"\n[ "$7" != "requirements/{unsound}.txt" ]\n')
    fake.chmod(0o755)
    done = make("--silent", "audit", "PYTHON=./fake", root=tmp_path)
    asked = re.findall(r"^asked: (.*) (\S+)$", done.stdout, re.MULTILINE)
    assert {how for how, _ in asked} == {
        "-m pip_audit --strict --require-hashes --disable-pip --requirement"
    }
    assert [lock for _, lock in asked] == sorted(
        f"requirements/{file.name}" for file in (ROOT / "requirements").iterdir()
    )
    assert done.returncode == (2 if unsound else 0)


@pytest.mark.parametrize("value", [*ODD, "-x", "$$a", '"', "a,b"])
@pytest.mark.parametrize("by", ["word", "environment"])
def test_any_column_reaches_new_task(tmp_path: Path, value: str, by: str) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    fake = tmp_path / "fake"
    fake.write_text('#!/bin/sh\nprintf \'<%s>\' "$NEW_TASK_TARGET" "$NEW_TASK_IGNORE"\n')
    fake.chmod(0o755)
    given = {"TARGET": value, "IGNORE": value}
    words = [f"{name}={text}" for name, text in given.items()] if by == "word" else []
    more = given if by == "environment" else {}
    done = make("--silent", "new-task", "PYTHON=./fake", *words, root=tmp_path, **more)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"<{value}><{value}>")
    assert "warning" not in done.stderr
    assert [*tmp_path.rglob("pwned")] == []
