"""What scripts and notebooks call, beside the command line that does the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmark import api, results
from tests.benchmark import fixtures
from tests.commands import parse

ASKED: list[dict[str, Any]] = [
    {},
    {"device": "cpu", "repeats": 3, "seed": 7, "split": "random"},
    {"pipelines": ["linear", "boosting"], "home": Path("my data"), "out": "it's $HOME"},
    {"pipelines": "linear", "out": Path("reports") / "other"},
    {"changes": ["ridge__alpha=[1, 'x y']", "a__b=2"]},
    {"rows": 1000, "years": "2006-2019"},
]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "-".join(asked) or "nothing")
def test_a_report_of_a_script_names_the_command_that_makes_it_again(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("sys.argv", ["ipykernel_launcher.py", "-f", "kernel.json"])
    monkeypatch.setattr(api, "prepare", lambda *args, **given: (None, None, given["pipelines"]))
    monkeypatch.setattr(api, "publish", lambda comparison, *rest: seen.append(comparison))
    monkeypatch.setattr(results, "load", lambda path: fixtures.normal())
    api.report("houses", **asked)
    made, usual = parse(*seen[0].command), parse("report", "houses")
    wanted = {name: value for name, value in asked.items() if name != "pipelines"}
    if "pipelines" in asked:
        names = asked["pipelines"]
        wanted["pipelines"] = names if isinstance(names, str) else ",".join(names)
    if "out" in asked:
        wanted["out"] = Path(asked["out"])
    if "changes" in asked:
        wanted["changes"] = tuple(asked["changes"])
    assert made == usual | wanted
