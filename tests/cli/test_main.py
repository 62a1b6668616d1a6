from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from shlex import quote

import numpy as np
import pandas as pd
import pytest

import tasks.flights
from pipeline.benchmark.record import results
from pipeline.cli import main
from pipeline.task import prepare
from tasks.flights import TASK
from tests.commands import ROOT, assert_one_message, call, python

COMMANDS = "run compare report tune gallery predict data new-task list models explain accel doctor"
HEAVY = {"sklearn", "pandas", "xgboost", "numpy", "rich", "pyarrow", "scipy", "matplotlib"}
LOADED = """
import runpy, sys
sys.argv = ["pipeline", *sys.argv[1:]]
try:
    runpy.run_module("pipeline", run_name="__main__", alter_sys=True)
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def test_help_lists_every_command_in_the_order_of_use() -> None:
    code, out, _ = call("--help")
    listed = re.findall(r"^  ([a-z-]+) +[A-Z]", out.partition("Commands:")[2], re.MULTILINE)
    assert (code, listed) == (0, COMMANDS.split())


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_what_needs_no_library_loads_none(arguments: list[str]) -> None:
    code, _, loaded = python("-c", LOADED, *arguments)
    assert code == 0, loaded
    assert set(loaded.split()) & HEAVY == set()


def test_list_gives_each_task_with_its_summary() -> None:
    code, out, _ = call("list")
    assert code == 0
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert set(lines) == {path.stem for path in ROOT.glob("tasks/[!_]*.py")}
    assert lines["flights"].startswith("binary        327,346 rows  - ")
    assert lines["flights"].endswith(tasks.flights.__doc__.partition("\n")[0])
    assert lines["covertype"].startswith("multiclass    581,012 rows  11 MB to download ")
    assert lines["ranking"].startswith("ranking        50,000 rows  generated, any ROWS ")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_explain_prints_every_step_of_every_program(device: str) -> None:
    code, out, err = call("explain", "flights", "--device", device)
    assert (code, err) == (0, "")
    blocks = dict(block.split("\n", 1) for block in out.strip().split("\n\n"))
    assert list(blocks) == list(TASK.pipelines)
    for name, block in blocks.items():
        last = TASK.pipeline(name, 0).steps[-1][0]
        rows = [line.split()[:2] for line in block.splitlines()]
        assert rows[-1] == [last, device]
        assert {place for _, place in rows} == {device}
        assert len(rows) >= 4
    _, out, _ = call("explain", "flights", "--device", device, "--pipelines", "boosting", "--json")
    ((name, found),) = json.loads(out).items()
    assert (name, found["device"]) == ("boosting", device)


def test_run_keeps_a_valid_record(small_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = call(
        "run", "flights", "--data-home", small_home, "--out", out, "--device", "cpu",
        "--pipelines", "boosting", "--seed", 5, "--split", "random",
        "--set", "xgbclassifier__max_depth=3", "--set", "xgbclassifier__tree_method=hist",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == f"results: {out}"
    record = results.load(out / "results.json")
    assert (record.protocol.seed, len(record.cells)) == (5, 1)
    assert record.task.split.startswith("random: ")
    assert "max_depth=3" in record.pipelines[0].code
    assert "tree_method='hist'" in record.pipelines[0].code
    assert f"--out {quote(str(out))}" in record.source.command
    assert {path.name for path in out.iterdir()} == {
        "results.json", "boosting.model", "boosting.predictions.parquet",
    }  # fmt: skip
    model = json.loads((out / "boosting.model" / "model.manifest.json").read_text())
    name, value = next(iter(model["metrics"].items()))
    assert call("models", tmp_path).out.splitlines() == [
        f"{out / 'boosting.model'}  trained on cpu  {name} {value:.4g}  {model['created']}"
    ]
    assert call("models", tmp_path / "none").out.startswith(f"no models in {tmp_path / 'none'}; ")
    (out / "boosting.model" / "model.manifest.json").write_text("[]")
    assert "model.manifest.json cannot be read" in call("models", tmp_path).out


def test_a_name_with_a_line_break_is_to_be_quoted() -> None:
    done = call("new-task", "b.csv", "y", "--ignore", "price\nEUR")
    assert (done.code, "quote a name with a comma" in done.err) == (2, True)


@pytest.mark.slow
def test_report_writes_pages_beside_the_record(small_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "flights"
    done = python(
        "-m", "pipeline", "report", "flights", "--data-home", small_home, "--out", out,
        "--device", "cpu", "--pipelines", "logistic", "--repeats", 3,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == f"report: {(out / 'index.html').as_uri()}"
    pages = {"index.html", "report.md", "runs.csv"}
    assert {path.name for path in out.iterdir()} == {*pages, "results.json"}
    record = results.load(out / "results.json")
    assert [len(cell.runs) for cell in record.cells] == [3, 3]
    assert "logistic" in done.out.replace(str(out), "")


@pytest.mark.parametrize(
    ("words", "wrong", "way"),
    [
        ("frobnicate", "unknown command 'frobnicate'", "choose from: accel, compare, "),
        ("reprot flights", "unknown command 'reprot'", "did you mean 'report'? Choose from: "),
        ("--frobnicate", "unknown option '--frobnicate'", "see `.venv/bin/python -m pipeline --h"),
        (
            "run flights --devise cpu",
            "unknown option '--devise'",
            "did you mean '--device'? Or see",
        ),
        ("tune flights --no-resum", "unknown option '--no-resum'", "did you mean '--no-resume'?"),
        ("predict model", "missing argument 'IN'", "see `.venv/bin/python -m pipeline predict --h"),
        ("run flights --seed x", "invalid value for '--seed': 'x' is not a valid integer", "see `"),
        ("compare flights --repeats 2", "'--repeats': 2 is not in the range x>=3", "see `"),
        ("data synthetic --rows inf", "'--rows': 'inf' is not an integer", "pass a number"),
        ("run flights more", "got unexpected extra argument (more)", "see `"),
        ("run flights --out", "option '--out' requires an argument", "see `"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_to_do(words: str, wrong: str, way: str) -> None:
    done = call(*words.split())
    assert_one_message(done, 2, f"{wrong}; {way}")
    assert done.out == ""


def test_no_command_at_all_shows_the_help() -> None:
    code, out, err = call()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: .venv/bin/python -m pipeline ")


def test_a_reader_that_goes_away_is_no_fault() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "list"],
        stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=600, check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a__b=1", ("a__b", 1)),
        ("a__b=None", ("a__b", None)),
        ("a__b=hist", ("a__b", "hist")),
        ("a__b=[1, 2]", ("a__b", [1, 2])),
        (" a__b = x=y ", ("a__b", "x=y")),
        ("a__b=__import__('os')", ("a__b", "__import__('os')")),
        ("a__b=" + "-" * 100_000 + "1", ("a__b", "-" * 100_000 + "1")),
    ],
)
def test_values_are_python_literals_or_else_text(text: str, expected: tuple[str, object]) -> None:
    assert prepare.parse_change(text) == expected


def test_nothing_that_a_terminal_obeys_is_printed(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    name, rows = "\x1b[31mid, \x1b]0;x\x07", np.arange(400)
    y = rows % 7 * 1.5
    table = pd.DataFrame({name: y * 2 + 1, f"{name}2": rows % 5, "y": y})
    table.to_csv(tmp_path / "odd.csv", index=False)
    target = [tmp_path / "odd.csv", "y", "--data-home", tmp_path / "data"]
    made = call("new-task", *target, root=tmp_path)
    assert made.code == 0, made.err
    assert """--ignore '"\ufffd[31mid, \ufffd]0;x\ufffd"'""" in made.out
    lost = call(
        "new-task", *target, "--name", "b", "--by", name, "--split", "groups", root=tmp_path
    )
    with main._cautioning():
        said = warnings.formatwarning(name, UserWarning, "", 1)
    assert not re.search("[\x1b\x07]", made.out + made.err + lost.out + lost.err + said)


def test_a_character_that_the_terminal_lacks_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    with main._speaking():
        print("cpu 0.75× reference")
    assert out.buffer.getvalue() == b"cpu 0.75? reference\n"
