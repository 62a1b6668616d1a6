"""The README is true: its tables follow from the code, its example runs as it stands."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tools import readme

TEXT = readme.README.read_text()


def test_generated_parts_are_up_to_date() -> None:
    assert readme.updated(TEXT) == TEXT, "run `python -m tools.readme`"


def test_generated_parts_are_not_empty() -> None:
    for name in ("support", "measured"):
        part = TEXT.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
        assert part.count("|") > 20


def test_stale_parts_are_found() -> None:
    stale = TEXT.replace("`StandardScaler`", "`StandardScaller`")
    assert stale != TEXT
    assert readme.updated(stale) != stale


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (readme.ROOT / target).exists(), target


GUIDES = [readme.RULES, readme.TASKS, readme.CLUSTER]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_tables_of_a_guide_are_up_to_date(guide: Path) -> None:
    text = guide.read_text()
    assert readme.updated(text, guide) == text, "run `python -m tools.readme`"


def test_the_links_of_the_guide_to_tasks_lead_somewhere() -> None:
    found = re.findall(r"\]\(([^)#:]+)\)", readme.TASKS.read_text())
    assert len(found) > 10
    for target in found:
        assert (readme.TASKS.parent / target).exists(), target


@pytest.mark.parametrize("guide", ["estimators.md", "explain.md", "lift.md"])
def test_examples_of_a_guide_run(guide: str) -> None:
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    path = readme.ROOT / "docs" / guide
    failed, tried = doctest.testfile(str(path), module_relative=False, optionflags=flags)
    assert failed == 0
    assert tried >= 5


def test_example_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    small_home: Path,
) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL))
    (tmp_path / "data").symlink_to(small_home)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "cuml.linear_model.LogisticRegression" in printed
    assert "predict_proba" in printed
    assert type(names["plain"]).__module__.startswith("sklearn.")
    assert type(names["prepare"].transform(names["X"])).__name__ == "DataFrame"
