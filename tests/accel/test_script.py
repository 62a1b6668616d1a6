"""Scripts and notebooks run unchanged, and what they show."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pipeline
from pipeline import accel
from pipeline.accel.call_table import Calls
from pipeline.accel.sites import Site
from pipeline.cli.magics import CellFailed
from pipeline.errors import ConfigError
from tests.commands import Done, call, python

SCRIPT = """
import sys
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X = pd.DataFrame({"a": range(40), "b": [1.0, 2.0] * 20})
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, [0] * 20 + [1] * 20)
for _ in range(3):
    labels = model.predict(X)
print(__name__, sys.argv[1:], labels.sum())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "my script.py"
    path.write_text(SCRIPT)
    return path


OPTIONS = "accel", "--device", "cpu"


def run(*args: object) -> Done:
    return call(*OPTIONS, *args)


@pytest.fixture(autouse=True)
def uninstalled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    yield
    accel.uninstall()


def test_a_script_runs_as_by_python_and_a_table_follows(script: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ["--min-size", 0, "--verify", "--report", report]
    code, out, err = run(*options, script, "--min-size", "x")
    assert (code, out) == (0, "__main__ ['--min-size', 'x'] 20\n")
    lines = err.split("\n")
    assert lines[1].startswith("The engine ran 4 of 4 calls: ")
    assert lines[1].endswith("; 0 differ")
    assert lines[2].split() == ["line", "call", "n", "ran", "on", "seconds", "why"]
    record = json.loads(report.read_text())
    fit, predict = record["calls"]
    assert fit["where"] == f"{script}:9"
    assert (fit["what"], fit["ran"], fit["n"]) == ("Pipeline.fit", "cpu", 1)
    assert (predict["what"], predict["n"], predict["n_differ"]) == ("Pipeline.predict", 3, 0)
    assert predict["plain_seconds"] > 0


def test_by_default_a_small_table_is_left_to_scikit_learn(script: Path) -> None:
    code, out, err = run(script)
    assert (code, out) == (0, "__main__ [] 20\n")
    assert "The engine ran 0 of 4 calls" in err
    assert err.count("  plain  ") == 2


def test_a_module_runs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    monkeypatch.setattr(sys, "path", [sys.path[0], f"{tmp_path}", *sys.path[1:]])
    assert run("-m", "mine", "x")[:2] == (0, "__main__ ['x'] 20\n")


@pytest.mark.parametrize(
    ("end", "code", "says"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit('too bad')", 1, "too bad\n"),
        ("e = ValueError('odd')\nraise e from e", 1, "ValueError: odd"),
        ("sys.stdout.flush(); sys.stdout = None", 0, ""),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
        ("import os; os.chdir('/'); open(__file__).close()", 0, ""),
        ("sys.excepthook = lambda *given: sys.stderr.write('my own'); 1 / 0", 1, "my own"),
    ],
)
def test_a_script_ends_with_its_own_code(script: Path, end: str, code: int, says: str) -> None:
    script.write_text(f"{SCRIPT}{end}\n")
    found, _, err = run("--min-size", 0, script)
    assert found == code
    assert says in err
    assert "The engine ran" in err


def test_a_traceback_is_the_users(script: Path) -> None:
    script.write_text(f"{SCRIPT}model.predict(X[['a']])\n")
    _, _, full = run("--min-size", 0, "--traceback", "full", script)
    script.write_text(f"{SCRIPT}import warnings\nwarnings.warn('odd')\nmodel.predict(X[['a']])\n")
    _, _, plain = python(script)
    _, _, short = python("-m", "pipeline", *OPTIONS, "--min-size", 0, script)
    own = f"{os.sep}accel{os.sep}patches.py"
    assert own not in short
    assert own in full
    assert plain.strip() == short.partition("\n\nThe engine ran")[0].strip()


def test_errors_name_what_is_wrong(tmp_path: Path, script: Path) -> None:
    assert run(tmp_path / "no.py")[::2] == (
        2,
        f"error: {tmp_path / 'no.py'}: no such file; pass the script to run, or -m and a module\n",
    )
    code, _, err = run("--report", "report.txt", script)
    assert (code, err) == (
        2,
        "error: --report report.txt: choose a name that ends in .html or .json\n",
    )
    code, _, err = run("--report", tmp_path / "no" / "a.html", script)
    assert (code, err.endswith("a.html: the folder does not exist; create it\n")) == (2, True)
    code, _, err = run("-m", "no_such_module")
    assert (code, err.splitlines()[0]) == (1, "No module named no_such_module")
    (tmp_path / "pipeline.py").write_text("")
    code, _, err = run(script)
    assert code == 2
    assert "pipeline.py: has the name of this package; rename it, or move " in err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_runs_plain(script: Path) -> None:
    forks = "import os\nif os.fork():\n    os.wait()\nelse:\n"
    forks += "    from pipeline.accel.patches import is_installed\n    print(is_installed())\n"
    script.write_text(f"{forks}    os._exit(sys.stdout.flush() or 0)\n")
    script.write_text(f"import sys\n{script.read_text()}")
    assert python("-m", "pipeline", *OPTIONS, script)[:2] == (0, "False\n")


def test_the_page_shows_lines_calls_and_differences() -> None:
    calls = Calls(
        [
            Site("/x/a.py:3", "Ridge.fit", "plain", "small", n=2, seconds=0.1),
            Site("/x/a.py:4", "Pipeline.fit", "cuda", n=1, seconds=0.5, to_device_bytes=2_000_000,
                 plain_seconds=1.0, n_differ=1, differs="coef_: <1> instead of 2"),
        ]
    )  # fmt: skip
    page = calls._repr_html_()
    assert "1 of 3 calls: 0.50 s of 0.60 s; plain scikit-learn needed 1.00 s for these" in page
    assert page.index("a.py:4") < page.index("a.py:3")
    assert '<td class="number">2.0</td>' in page
    assert "/x/a.py:4 Pipeline.fit: coef_: &lt;1&gt; instead of 2" in page
    assert repr(calls).split("\n")[1].split() == [
        *("line", "call", "n", "ran", "on", "seconds"),
        *("MB", "to", "device", "MB", "to", "host", "why"),
    ]


class Shell:
    """What is asked of IPython's shell."""

    def __init__(self) -> None:
        self.magics: dict[str, Callable[..., Any]] = {}

    def register_magic_function(self, function: Callable[..., Any], kind: str) -> None:
        self.magics[f"{kind} {function.__name__}"] = function

    def run_cell(self, cell: str) -> Any:
        try:
            exec(cell, {"__name__": "__main__"})
        except ZeroDivisionError:
            return SimpleNamespace(success=False)
        return SimpleNamespace(success=True)


@pytest.fixture
def shell() -> Iterator[Shell]:
    made = Shell()
    pipeline.load_ipython_extension(made)
    yield made
    pipeline.unload_ipython_extension(made)


def test_a_cell_of_a_notebook_shows_its_calls(shell: Shell) -> None:
    magic = shell.magics["cell pipeline"]
    magic("--device cpu --min-size 0", SCRIPT)
    shown = magic("", SCRIPT)
    assert [site.what for site in shown] == ["Pipeline.fit", "Pipeline.predict"]
    assert {site.ran for site in shown} == {"cpu"}
    with pytest.raises(CellFailed):
        magic("", "1 / 0")
    with pytest.raises(ConfigError, match="%%pipeline: No such option '--devise'"):
        magic("--devise cpu", "")
