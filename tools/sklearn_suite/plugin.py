"""The plugin of pytest: puts the stand-ins in their places while a test module is imported.

scikit-learn and `pipeline` themselves are loaded before, and keep scikit-learn's classes. With
``--accel``, the classes stay and their calls are accelerated.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.utils import all_estimators

from pipeline import accel
from pipeline.accel import sites
from tools.sklearn_suite import stand_ins

CHECKED = {
    "GaussianNB", "KMeans", "KNeighborsClassifier", "LinearRegression", "LogisticRegression", "PCA",
    "RandomForestClassifier", "Ridge", "SVC", "OneHotEncoder", "SimpleImputer", "StandardScaler",
}  # fmt: skip
"""Classes that go through all common checks, which take minutes for each dozen."""
MAKERS = (make_pipeline, make_union, make_column_transformer)


@dataclass(frozen=True)
class Expected:
    """The tests that are expected to fail, with reasons, as `expected_failures.yaml` has them."""

    share: float
    """Smallest share of the tests that must pass."""
    reasons: dict[str, str]
    """Reason by pattern: the id of a test, in which ``*`` stands for any text. It is empty where a
    test passes that another pattern fits, which is listed under `but`."""
    suites: tuple[str, ...] = ()
    """The tests that run."""

    @classmethod
    def read(cls, path: Path) -> Expected:
        """Read the file."""
        found = yaml.safe_load(path.read_text("utf-8"))
        pairs = [(test, "") for each in found["failures"] for test in each.get("but", ())]
        pairs += [(test, each["reason"]) for each in found["failures"] for test in each["tests"]]
        if twice := {test for test, _ in pairs if [t for t, _ in pairs].count(test) > 1}:
            raise ValueError(f"{path} has twice: {', '.join(sorted(twice))}")
        return cls(float(found["share"]), dict(pairs), tuple(found.get("suites", ())))

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        return [
            (test, re.compile(".*".join(map(re.escape, test.split("*"))))) for test in self.reasons
        ]

    def pattern(self, test: str) -> str | None:
        """Return the first pattern that a test fits."""
        return next((text for text, found in self._patterns if found.fullmatch(test)), None)

    def reason(self, test: str) -> str:
        """Return why a test fails; empty where it is expected to pass.

        >>> Expected(0.9, {"tests/test_a.py::test_b[*]": "no"}).reason("tests/test_a.py::test_b[1]")
        'no'
        """
        return self.reasons.get(self.pattern(test) or "", "")

    def unused(self, tests: Iterable[str]) -> set[str]:
        """Return the patterns that no test fits."""
        return set(self.reasons) - {self.pattern(test) for test in tests}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    parser.addoption("--plain", action="store_true", help="with scikit-learn's own classes")
    parser.addoption("--accel", action="store_true", help="with these classes, accelerated")
    parser.addoption("--only", type=Path, help="file of the tests to run, by their ids")
    parser.addoption("--results", type=Path, help="file to write what became of each test to")
    parser.addoption("--expected", type=Path, help="file of the failures to expect")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Accelerate the calls of the tests."""
    if session.config.getoption("--accel"):
        accel.install("cpu", min_size=0)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Import a test module with the stand-ins in scikit-learn's modules."""
    own = any(map(collector.config.getoption, ("--plain", "--accel")))
    if own or not isinstance(collector, pytest.Module):
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
    out = set() if finals else stand_ins.FINALS
    made = {real: made for real, made in stand_ins.STAND_INS.items() if real not in out}
    made |= {make: _with_stand_ins(make) for make in MAKERS}
    places = list(_places(made))
    with pytest.MonkeyPatch.context() as patch:
        for place in places:
            patch.setattr(*place)
        yield


def _places(made: dict[Any, Any]) -> Iterator[tuple[ModuleType, str, Any]]:
    known = {id(real): real for real in made}
    for title, module in sorted(sys.modules.items()):
        if title.startswith("sklearn.") and ".tests." not in title:
            for name, value in list(vars(module).items()):
                if id(value) in known:
                    yield module, name, made[value]


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
    kept = (item for item in items if asked is None or item.nodeid in asked)
    items[:] = filter(_is_of_ours, kept)
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
    """Note whether a test calls one of our classes, or the engine."""
    stand_ins.calls.clear()
    sites.forget()
    yield
    ours = bool(stand_ins.calls) or any(site.ran != sites.PLAIN for site in sites.sites())
    item.user_properties.append(("ours", ours))


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
