"""The list of the tests that are expected to fail, each with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Expected:
    """What `expected_failures.yaml` holds."""

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
