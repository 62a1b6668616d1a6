"""The documentation is true: generated parts, links, names, commands and examples."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest

import pipeline
from datasets.synthetic import Recipe
from pipeline import errors
from pipeline.cli import main as cli
from tests.commands import parse
from tools import docs

ROOT = docs.ROOT
MADE = "tasks/planes.py"
"""What the guide to your own data makes."""
BLOCK = r"^```\w*\n(.*?)^```"
BARE = re.compile(r"(?<![/\w])python3? -m (?:pipeline|datasets|tools|tests)\b")
GONE = re.compile(
    r"\b(answer(s|ed)?|cells?|found|judged?|learnt|made|no search saw|refuse[sd]?|tells?|told)\b",
    re.IGNORECASE,
)
"""What the documentation and the help say in other words."""
OF_PIP = {"--no-deps", "--require-hashes"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(docs.DOCS.glob("*.md"))]


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def code(page: Path) -> str:
    """Return what stands in blocks of code and between backticks, a line each."""
    text = page.read_text("utf-8")
    blocks = re.findall(BLOCK, text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", prose(page))])


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def each_page(function):
    return pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)(function)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", docs.PAGES)
def test_generated_parts_are_up_to_date(name: str) -> None:
    text = (docs.DOCS / name).read_text("utf-8")
    assert docs.updated(name, text) == text, "run `python -m tools.docs`"
    for part in docs.PAGES[name]:
        assert len(text.partition(f"<!-- {part} -->")[2].partition(f"<!-- /{part} -->")[0]) > 100


@pytest.mark.quick(1)
def test_figures_and_long_tables_are_up_to_date() -> None:
    for path, text in docs.details():
        kept = path.read_text("utf-8")
        if path.suffix == ".svg":  # whose last digits are those of a processor
            kept, text = map(drawn, (kept, text))  # noqa: PLW2901
        assert kept == text, "run `python -m tools.docs`"


def drawn(svg: str) -> list[Any]:
    """Return the texts and the rounded places of an SVG."""
    texts = re.findall(r"<text [^>]*>([^<]+)<", svg)
    places = [round(float(x)) for x in re.findall(r' [xy]="([\d.]+)"', svg)]
    assert texts
    assert places
    return [*texts, *places]


def test_committed_reports_are_up_to_date_and_have_no_word_that_is_gone() -> None:
    reports = [*docs.reports()]
    assert reports
    for path, text in reports:
        assert path.read_text("utf-8") == text, "run `python -m tools.docs`"
        assert path.with_name("results.json").is_file()
        # The notes of flights-gpu are those of the code that ran there.
        assert [line for line in gone(text) if "is given CSR" not in line] == []


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", prose(page)):
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), f"{target}#{anchor}"


def gone(text: str) -> list[str]:
    """Return the lines with words that are gone, outside of code and the targets of links."""
    plain = re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", " ", text, flags=re.DOTALL)
    return [line for line in plain.splitlines() if GONE.search(" ".join(line.split()))]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.stem)
def test_pages_have_no_word_that_is_gone(page: Path) -> None:
    assert gone(prose(page)) == []


@pytest.mark.parametrize("command", [cli.commands, *cli.commands.commands.values()])
def test_help_has_no_word_that_is_gone(command: click.Command) -> None:
    assert gone(command.get_help(click.Context(command, max_content_width=1_000))) == []


def messages(source: str) -> Iterator[str]:
    """Yield the texts of a module but for docstrings and templates, values left out."""
    tree = ast.parse(source)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            told |= {id(part) for part in node.values}
            parts = [p.value if isinstance(p, ast.Constant) else "x" for p in node.values]
            yield "".join(map(str, parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value if "{{" not in node.value else ""


def test_messages_have_no_word_that_is_gone() -> None:
    texts = [
        text
        for folder in ("pipeline", "datasets", "tasks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in messages(path.read_text("utf-8"))
        if " " in text and "Found unknown categories" not in text  # scikit-learn's words
    ]
    assert len(texts) > 2_000
    assert [text for text in texts if gone(text)] == []


def test_words_that_are_gone_are_seen_outside_of_code() -> None:
    assert gone("A Cell.\nrows that no  search saw") == ["A Cell.", "rows that no  search saw"]
    assert gone("`cells` of [runs](made.md), excellent") == []


def test_the_page_of_the_api_lists_each_public_name_once() -> None:
    listed = re.findall(r"^   (\w+)$", (docs.DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == pipeline.__all__


@each_page
def test_named_files_exist(page: Path) -> None:
    named = re.findall(r"`((?:pipeline|tests|tools|tasks|datasets)/[\w/]+\.\w+)`", prose(page))
    assert [n for n in named if n != MADE and not (ROOT / n).is_file()] == []


@each_page
def test_named_targets_of_make_exist(page: Path) -> None:
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = re.findall(r"^(?:\$ |.*# )?make ([a-z][a-z-]*)", code(page), re.MULTILINE)
    assert set(named) - there == set()


def options() -> set[str]:
    """Return the options of the commands and tools of this project."""
    params = [param for command in cli.commands.commands.values() for param in command.params]
    ours = {name for param in params for name in (*param.opts, *param.secondary_opts)}
    sources = [*(ROOT / "tools").rglob("*.py"), *(ROOT / "datasets").rglob("*.py")]
    sources.append(ROOT / "pipeline/system/gpu.py")
    found = (re.findall(r'"(--[a-z-]+)"', file.read_text("utf-8")) for file in sources)
    generated = {"--partitions", *(f"--{field.name}" for field in dataclasses.fields(Recipe))}
    return ours.union(*found, generated)


@each_page
def test_named_options_exist(page: Path) -> None:
    lines = re.findall(
        r"^(?:.*python -m (?:pipeline|datasets|tools)|--).*", code(page), re.MULTILINE
    )
    named = {o for line in lines for o in re.findall(r"--[a-z][a-z0-9-]+", line)}
    assert named - options() - OF_PIP == set()


def lines_of_code(page: Path) -> list[str]:
    """Return the commands in blocks of code, those over several lines as one, without prompts."""
    text = "\n".join(re.findall(BLOCK, page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE))
    return re.sub(r"\\\n *", "", text).replace("$ ", "").splitlines()


@each_page
def test_commands_are_of_a_form_that_works_in_a_fresh_clone(page: Path) -> None:
    assert BARE.findall(page.read_text("utf-8")) == [], "write .venv/bin/python -m, or make"
    words = [line.split()[0] for line in lines_of_code(page) if line.startswith("python")]
    assert words == []


@each_page
def test_commands_take_what_they_are_given(page: Path) -> None:
    for line in lines_of_code(page):
        if line.startswith(".venv/bin/python -m pipeline "):
            verb, *words = shlex.split(line, comments=True)[3:]
            with contextlib.suppress(click.BadParameter):  # such as a file that is not here
                parse(verb, *words)


@each_page
def test_variables_of_make_exist(page: Path) -> None:
    there = set(re.findall(r"^([A-Z]\w*) \??:?=", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = re.findall(r"^(?:\$ )?(make [a-z].*?)(?: +#.*)?$", code(page), re.MULTILINE)
    named = {name for line in lines for name in re.findall(r" ([A-Z]\w*)=", line)}
    assert named - there == set()


@pytest.mark.parametrize("folder", ["pipeline", "tools", "datasets", "tasks"])
def test_commands_in_messages_are_of_a_form_that_works(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".j2", ".toml"}]
    found = [path.name for path in files if BARE.search(path.read_text("utf-8"))]
    assert found == []


@each_page
def test_named_functions_of_the_package_exist(page: Path) -> None:
    named = re.findall(r"\bpipeline\.([A-Za-z]\w*)\(", page.read_text("utf-8"))
    assert [name for name in named if not hasattr(pipeline, name)] == []


def test_every_exit_code_and_error_is_listed() -> None:
    page = (docs.DOCS / "errors.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|$", page, re.MULTILINE)
    listed = {(name, int(code)) for code, text in rows for name in re.findall(r"`(\w+)`", text)}
    kinds = [kind for kind in vars(errors).values() if hasattr(kind, "exit_code")]
    bases = errors.PipelineError, errors.Refused
    assert listed == {(k.__name__, k.exit_code) for k in kinds if k not in bases}
    assert {int(code) for code, _ in rows} == {k.exit_code for k in kinds} | {
        *(0, cli.INTERRUPTED, cli.TERMINATED, cli.HUNG_UP)
    }


@pytest.mark.parametrize(
    ("page", "least"), [("architecture.md", 8), ("devices.md", 25), ("explanations.md", 12)]
)
def test_examples_run(page: str, least: int) -> None:
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(
        str(docs.DOCS / page), module_relative=False, optionflags=flags
    )
    assert failed == 0
    assert tried >= least


def test_the_example_of_the_readme_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    small_home: Path,
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    (tmp_path / "data").symlink_to(small_home)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "predict_proba" in capsys.readouterr().out
    assert type(names["plain"]).__module__.startswith("sklearn.")


@pytest.mark.slow
def test_the_guide_to_your_own_data_leads_to_predictions(tmp_path: Path) -> None:
    made = shutil.ignore_patterns(".*", "data", "runs", "reports")
    clone = tmp_path / "clone"
    # Of the top alone: there is a package `pipeline.table`.
    shutil.copytree(
        ROOT, clone, ignore=lambda at, names: made(at, names) if Path(at) == ROOT else ()
    )
    (clone / ".venv").symlink_to(sys.prefix)
    page = (docs.DOCS / "tasks.md").read_text("utf-8")
    guide = page.partition("\n## Your own data\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", guide, flags=re.DOTALL | re.MULTILINE)
    assert [language for language, _ in blocks] == ["sh", "python"]
    (clone / "guide.py").write_text(blocks[1][1], "utf-8")
    # The environment of this test, as it is: nothing is set up.
    environ = {"MAKEFLAGS": "-- PYTHON=./.venv/bin/python", "PYTHONPATH": str(clone)}
    for command in (blocks[0][1], ".venv/bin/python guide.py"):
        subprocess.run(
            ["bash", "-euxc", command],
            cwd=clone,
            env=os.environ | environ,
            timeout=1200,
            check=True,
        )
    found = pd.read_csv(clone / "engines.csv")
    assert set(found["prediction"]) <= {"Reciprocating", "Turbo-fan", "Turbo-jet"}
    assert len(found) == 3322
