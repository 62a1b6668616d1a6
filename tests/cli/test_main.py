from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from shlex import quote

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import tasks.flights
from pipeline import __version__
from pipeline.benchmark.publish import render
from pipeline.benchmark.record import results
from pipeline.cli import main
from pipeline.system import doctor
from pipeline.task import prepare, task
from pipeline.task.own import new_task
from tasks.flights import TASK
from tests.benchmark import fixtures
from tests.commands import ROOT, assert_one_message, call, python
from tests.datasets import raw

COMMANDS = [
    "run",
    "compare",
    "report",
    "tune",
    "gallery",
    "predict",
    "data",
    "new-task",
    "list",
    "explain",
    "doctor",
]
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
    assert (code, listed) == (0, COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_each_command_has_help(command: str, flag: str) -> None:
    code, out, err = call(command, flag)
    assert (code, err) == (0, "")
    summary = main.commands.commands[command].help.partition("\n")[0]
    assert summary in re.sub(r"\s+", " ", out)


@pytest.mark.parametrize("command", ["run", "compare", "report", "tune"])
def test_every_option_says_what_it_is_for(command: str) -> None:
    options = [p for p in main.commands.commands[command].params if p.opts[0].startswith("--")]
    assert [p.name for p in options if not p.help and p.name != "repeats"] == []


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["list"], ["--version"]])
def test_what_needs_no_library_loads_none(arguments: list[str]) -> None:
    code, _, loaded = python("-c", LOADED, *arguments)
    assert code == 0, loaded
    assert set(loaded.split()) & HEAVY == set()


def test_the_version_is_that_of_the_package() -> None:
    assert call("--version") == (0, f"pipeline, version {__version__}\n", "")


def test_list_gives_each_task_with_its_summary() -> None:
    code, out, _ = call("list")
    assert code == 0
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert set(lines) == {path.stem for path in ROOT.glob("tasks/[!_]*.py")}
    assert lines["flights"].startswith("binary        327,346 rows  - ")
    assert lines["flights"].endswith(tasks.flights.__doc__.partition("\n")[0])
    assert lines["covertype"].startswith("multiclass    581,012 rows  11 MB to download ")
    assert lines["taxi"].startswith("regression ")
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


def test_explain_takes_the_programs_that_are_asked_for() -> None:
    code, out, _ = call("explain", "flights", "--device", "cpu", "--pipelines", "forest, forest")
    assert code == 0
    assert [line for line in out.splitlines() if line in TASK.pipelines] == ["forest"]


def test_explain_gives_data() -> None:
    code, out, _ = call(
        "explain", "flights", "--device", "cuda", "--pipelines", "boosting", "--json"
    )
    assert code == 0
    found = json.loads(out)["boosting"]
    assert found["device"] == "cuda"
    assert found["steps"][-1]["implementation"] == "xgboost.XGBClassifier"
    assert found["steps"][-1]["parameters"] == {"device": "cuda"}


def test_explain_writes_a_page(tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    assert call("explain", "flights", "--device", "cpu", "--html", str(page)).code == 0
    text = page.read_text("utf-8")
    assert all(f"<h2>{name}</h2>" in text for name in TASK.pipelines)


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    code, _, err = call("explain", "flights", "--device", "cpu", "--html", str(tmp_path))
    assert code == 73
    assert str(tmp_path) in err


@pytest.mark.parametrize("broken", [True, False])
def test_doctor_ends_with_what_it_found(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    found = doctor.diagnose()
    problem = doctor.Problem("error", "numpy is broken", "make setup")
    found = replace(found, problems=(problem,) if broken else ())
    monkeypatch.setattr(doctor, "diagnose", lambda: found)
    code, out, _ = call("doctor")
    assert code == int(broken)
    assert ("numpy is broken" in out) == broken


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


@pytest.mark.slow
def test_report_writes_pages_beside_the_record(small_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "flights"
    done = python(
        "-m", "pipeline", "report", "flights", "--data-home", small_home, "--out", out,
        "--device", "cpu", "--pipelines", "logistic", "--repeats", 3,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == f"report: {(out / 'index.html').as_uri()}"
    pages = {"index.html", "report.md", "cells.csv", "machine.json"}
    assert {path.name for path in out.iterdir()} == {*pages, "results.json"}
    record = results.load(out / "results.json")
    assert [len(cell.runs) for cell in record.cells] == [3, 3]
    assert "logistic" in done.out.replace(str(out), "")


def test_report_again_makes_the_pages_from_the_record(tmp_path: Path) -> None:
    kept = results.dumps(fixtures.normal())
    (tmp_path / "results.json").write_bytes(kept)
    done = call("report", "flights", "--out", tmp_path, "--from-results")
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "results.json").read_bytes() == kept
    render(fixtures.normal(), tmp_path / "direct")
    for name in ("index.html", "report.md"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "direct" / name).read_bytes()


def test_an_unforeseen_error_shows_where_it_was_and_ends_with_70(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> int:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(doctor, "print_diagnosis", fail)
    code, _, err = call("doctor")
    assert code == 70
    assert "Traceback" in err
    assert "ZeroDivisionError: a fault of ours" in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["runn", "flights"],
        ["run"],
        ["run", "flights", "--seed", "x"],
        ["run", "flights", "--seed", "-1"],
        ["run", "flights", "--seed", str(2**32)],
        ["compare", "flights", "--repeats", "2"],
        ["report", "flights", "--repeat"],
        ["run", "flights", "surplus"],
        ["data", "synthetic", "--rows", "inf"],
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert "Usage:" in err
    assert "Traceback" not in err


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
        ("a__b=0.5", ("a__b", 0.5)),
        ("a__b=None", ("a__b", None)),
        ("a__b=True", ("a__b", True)),
        ("a__b=hist", ("a__b", "hist")),
        ("a__b='1'", ("a__b", "1")),
        ("a__b=[1, 2]", ("a__b", [1, 2])),
        (" a__b = x=y ", ("a__b", "x=y")),
        ("a__b={[]: 1}", ("a__b", "{[]: 1}")),
        ("a__b=__import__('os')", ("a__b", "__import__('os')")),
        ("a__b=" + "-" * 100_000 + "1", ("a__b", "-" * 100_000 + "1")),
        ("a__b=", ("a__b", "")),
    ],
)
def test_values_are_python_literals_or_else_text(text: str, expected: tuple[str, object]) -> None:
    assert prepare.parse_change(text) == expected


def test_data_downloaded_by_hand_is_taken(tmp_path: Path) -> None:
    given = raw.write("higgs", tmp_path / "given")
    done = call("data", "higgs", "--data-home", tmp_path / "home", "--from", given)
    path = tmp_path / "home" / "higgs" / "higgs.parquet"
    assert (done.code, done.out) == (0, f"data: {path}\n")
    assert pq.read_metadata(path).num_rows == raw.ROWS


def test_data_that_is_not_the_pinned_one_ends_with_65(tmp_path: Path) -> None:
    given = raw.write("covertype", tmp_path / "given")
    done = call("data", "covertype", "--data-home", tmp_path / "home", "--from", given)
    assert done.code == 65
    assert "covtype.data.gz: SHA-256 is" in done.err


def test_a_task_without_a_download_takes_no_file(tmp_path: Path) -> None:
    done = call("data", "digits", "--data-home", tmp_path / "home", "--from", tmp_path)
    assert_one_message(done, 65, "digits needs no download")


def test_nothing_that_a_terminal_obeys_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "FOLDER", tmp_path / "tasks")
    monkeypatch.setattr(new_task, "FOLDER", tmp_path / "tasks")
    (tmp_path / "tasks").mkdir()
    name, rows = "\x1b[31mid, \x1b]0;x\x07", np.arange(400)
    y = rows % 7 * 1.5
    table = pd.DataFrame({name: y * 2 + 1, f"{name}2": rows % 5, "y": y})
    table.to_csv(tmp_path / "odd.csv", index=False)
    target = [tmp_path / "odd.csv", "y", "--data-home", tmp_path / "data"]
    made = call("new-task", *target)
    assert made.code == 0, made.err
    assert """--ignore '"\ufffd[31mid, \ufffd]0;x\ufffd"'""" in made.out
    lost = call("new-task", *target, "--name", "b", "--by", name, "--split", "groups")
    with main._cautioning():
        said = warnings.formatwarning(name, UserWarning, "", 1)
    assert not re.search("[\x1b\x07]", made.out + made.err + lost.out + lost.err + said)


def test_a_character_that_the_terminal_lacks_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    with main._speaking():
        print("cpu 0.75× reference")
    assert out.buffer.getvalue() == b"cpu 0.75? reference\n"
