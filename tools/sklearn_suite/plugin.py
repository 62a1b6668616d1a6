"""The plugin of pytest: puts the stand-ins in their places while a test module is imported.

scikit-learn and `pipeline` themselves are loaded before, and keep scikit-learn's classes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.utils import all_estimators

from tools.sklearn_suite import stand_ins
from tools.sklearn_suite.expected import Expected

CHECKED = {
    "GaussianNB", "KMeans", "KNeighborsClassifier", "LinearRegression", "LogisticRegression", "PCA",
    "RandomForestClassifier", "Ridge", "SVC", "OneHotEncoder", "SimpleImputer", "StandardScaler",
}  # fmt: skip
"""Classes that go through all common checks, which take minutes for each dozen."""
MAKERS = (make_pipeline, make_union, make_column_transformer)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    parser.addoption("--plain", action="store_true", help="with scikit-learn's own classes")
    parser.addoption("--only", type=Path, help="file of the tests to run, by their ids")
    parser.addoption("--results", type=Path, help="file to write what became of each test to")
    parser.addoption("--expected", type=Path, help="file of the failures to expect")


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Import a test module with the stand-ins in scikit-learn's modules."""
    if not isinstance(collector, pytest.Module) or collector.config.getoption("--plain"):
        yield
        return
    # Final estimators are stood in for in their own tests and the common ones.
    theirs = (*stand_ins.FAMILIES, "tests/test_common", "tests/test_naive_bayes")
    with swapped(finals=collector.nodeid.startswith(theirs)):
        yield


@contextmanager
def swapped(*, finals: bool) -> Iterator[None]:
    """Put the stand-ins in all modules of scikit-learn, and take them out again."""
    all_estimators()  # loads the modules
    made = {
        real: made
        for real, made in stand_ins.STAND_INS.items()
        if finals or real not in stand_ins.FINALS
    }
    made |= {make: _with_stand_ins(make) for make in MAKERS}
    places = list(_places(made))
    for module, name, made, _ in places:
        setattr(module, name, made)
    try:
        yield
    finally:
        for module, name, _, real in places:
            setattr(module, name, real)


def _places(made: dict[Any, Any]) -> Iterator[tuple[ModuleType, str, Any, Any]]:
    known = {id(real): real for real in made}
    for title, module in sorted(sys.modules.items()):
        if title.startswith("sklearn.") and ".tests." not in title:
            for name, value in list(vars(module).items()):
                if id(value) in known:
                    yield module, name, made[value], value


def _with_stand_ins(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes containers, stand-ins for them."""

    @wraps(make)
    def made(*args: Any, **options: Any) -> Any:
        real = make(*args, **options)
        return stand_ins.STAND_INS[type(real)](**real.get_params(deep=False))

    return made


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests that were asked for, and mark those that are expected to fail."""
    only = config.getoption("--only")
    asked = set(only.read_text("utf-8").splitlines()) if only else None
    kept = [item for item in items if asked is None or item.nodeid in asked]
    items[:] = [item for item in kept if _is_of_ours(item)]
    if path := config.getoption("--expected"):
        expected = Expected.read(path)
        for item in items:
            if reason := expected.reason(item.nodeid):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _is_of_ours(item: pytest.Item) -> bool:
    """Return whether a test is not a common check of a class that is left out."""
    found = re.match(r"(\w+)\[(\w+)\(", item.name)
    if "test_common.py" not in item.nodeid or not found:
        return True
    names = {real.__name__ for real in stand_ins.STAND_INS}
    return found[2] in (CHECKED if found[1] == "test_estimators" else names)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note whether a test calls one of our classes."""
    stand_ins.calls.clear()
    yield
    item.user_properties.append(("ours", bool(stand_ins.calls)))


outcomes: dict[str, dict[str, Any]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what became of a test; of a failure, the words."""
    none = {"outcome": "passed", "ours": False, "words": ""}
    found = outcomes.setdefault(report.nodeid, none)
    found["ours"] |= dict(report.user_properties).get("ours", False)
    if report.outcome != "passed":
        found["outcome"] = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        crash = getattr(report.longrepr, "reprcrash", None)
        found["words"] = str(crash.message if crash else report.longrepr)
    elif hasattr(report, "wasxfail"):
        found["outcome"] = "xpassed"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the results, in the process that gathers them."""
    path = session.config.getoption("--results")
    if path and not hasattr(session.config, "workerinput"):
        path.write_text(json.dumps(outcomes, indent=1), "utf-8")
