"""What scripts and notebooks call, beside the command line that does the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tasks
from pipeline.benchmark import api
from pipeline.benchmark.record import results
from pipeline.errors import ConfigError
from tests.benchmark import fixtures
from tests.commands import parse


def test_a_report_of_a_script_names_the_command_that_makes_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(api, "prepare", lambda *args, **given: (None, None, given["pipelines"]))
    monkeypatch.setattr(api, "publish", lambda comparison, *rest, **more: seen.append(comparison))
    monkeypatch.setattr(results, "load", lambda path: fixtures.normal())
    api.report("houses")
    assert parse(*seen[0].command) == parse("report", "houses")
    asked = {"device": "cpu", "repeats": 3, "seed": 7, "split": "random", "rows": 1000}
    changes = ["ridge__alpha=[1, 'x y']", "a__b=2"]
    given = {"pipelines": ["linear", "boosting"], "out": "it's $HOME", "changes": changes}
    api.report("houses", **asked, **given)
    read = {"pipelines": "linear,boosting", "out": Path("it's $HOME"), "changes": tuple(changes)}
    assert parse(*seen[1].command) == parse("report", "houses") | asked | read


TABLE = pd.DataFrame({"ab": np.arange(300.0) % 7, "b": np.arange(300) % 5})
TABLE["y"] = np.where(TABLE["ab"] > TABLE["b"], "yes", "no")
WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "an option": ("report", {"sedd": 1}, "unknown choice 'sedd'; did you mean 'seed'?"),
    "a seed": ("report", {"seed": -1}, "seed=-1 is not an integer from 0"),
    "too few repeats": ("report", {"repeats": 2}, "repeats=2 is not an integer from 3"),
    "a target by number": ("new_task", {"target": 2}, "unknown column 2"),
    "a name of a choice": ("new_task", {"ingore": ["b"]}, "did you mean 'ignore'?"),
    "no name": ("new_task", {"name": ""}, "pass name="),
    "a task that is there": ("new_task", {"name": "mine"}, "choose another --name"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_use_is_told_in_words(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "mine.py").touch()
    function, given, words = WRONG[case]
    usual = {"task": "mine"} if function == "report" else {"table": TABLE, "target": "y"}
    usual |= {"name": "other"} if function == "new_task" else {}
    with pytest.raises(ConfigError, match=re.escape(words)):
        getattr(api, function)(**usual | given)


def test_a_column_by_itself_is_one_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = api.new_task(TABLE, "y", name="one", ignore="ab")
    assert made.columns.used == ["b"]
    monkeypatch.setattr(tasks, "__path__", [str(tmp_path / "tasks")])
    with pytest.raises(ConfigError, match="unknown pipeline 'forest'"):
        api.report(made, pipelines="forest")
