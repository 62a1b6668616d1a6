"""Run scikit-learn's own tests through `Accelerated`: ``.venv/bin/python -m tools.sklearn_suite``.

A test counts if it calls one of our classes, or fails with them in place, and passes with
scikit-learn's own. What fails must be in the list of expected failures, with its reason; what is
in the list must fail. With ``--accel``, their own classes run under `pipeline.accel` instead.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sklearn

from tools.sklearn_suite.plugin import Expected

EXPECTED = Path(__file__).with_name("expected_failures.yaml")
EXPECTED_ACCEL = Path(__file__).with_name("expected_failures_accel.yaml")
PACKAGE = Path(sklearn.__file__).resolve().parent
OUTCOMES = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Result:
    """What became of the tests, by their ids."""

    ours: OUTCOMES
    """With our classes."""
    plain: OUTCOMES
    """With scikit-learn's, of those alone that count if they pass there."""
    expected: Expected

    @cached_property
    def counted(self) -> list[str]:
        """The tests that count."""
        passed = {test for test, result in self.plain.items() if result["outcome"] == "passed"}
        return [test for test in candidates(self.ours) if test in passed]

    @cached_property
    def passed(self) -> list[str]:
        """Those of them that pass with our classes, expected or not."""
        return [test for test in self.counted if not failed(self.ours[test])]

    @property
    def share(self) -> float:
        """The share of those that pass."""
        return len(self.passed) / len(self.counted) if self.counted else 0.0

    def complaints(self, *, whole: bool) -> list[str]:
        """Return what is wrong, a line each; of a part of the tests, not what the list lacks."""
        ran = [test for test, result in self.ours.items() if result["outcome"] != "skipped"]
        listed = {test for test in ran if self.expected.reason(test)}
        found = [
            f"fails: {test}\n    {self.ours[test]['words'][:300]}"
            for test in self.counted
            if failed(self.ours[test]) and test not in listed
        ]
        leave = {
            "passes": listed & set(self.passed),
            "does not pass in plain scikit-learn": listed - set(self.counted),
            "no such test": self.expected.unused(ran) if whole else set(),
        }
        for why, tests in leave.items():
            found += [f"{why}, so it must leave the list: {test}" for test in sorted(tests)]
        if whole and self.share < self.expected.share:
            found.append(f"the share is below the declared {self.expected.share:.1%}")
        return found

    def summary(self) -> str:
        """Return the counts, with the reasons of what is expected to fail."""
        reasons = Counter(
            self.expected.reason(test) or "(not in the list)"
            for test in self.counted
            if failed(self.ours[test])
        )
        lines = [f"{n:6d}  {reason}" for reason, n in reasons.most_common()]
        # By module, as linear_model or tests/test_pipeline.
        ran, passed = (
            Counter(test.partition("/tests/")[0].partition(".py")[0] for test in tests)
            for tests in (self.counted, self.passed)
        )
        lines += [f"{passed[name]:6d} of {ran[name]:6d}  {name}" for name in sorted(ran)]
        return "\n".join([*lines, f"{self.share:.2%} of {len(self.counted):,} tests pass"])


def failed(result: dict[str, Any]) -> bool:
    """Return whether a test failed, as expected or not."""
    strict = str(result["words"]).startswith("[XPASS(strict)]")
    return result["outcome"] in ("failed", "xfailed") and not strict


def candidates(ours: OUTCOMES) -> list[str]:
    """Return the tests that call our classes, or fail."""
    return [
        test
        for test, result in ours.items()
        if result["outcome"] != "skipped" and (result["ours"] or failed(result))
    ]


def run(tests: Sequence[str], results: Path, *options: object) -> OUTCOMES:
    """Run tests of scikit-learn's in processes of their own, and return what became of them."""
    command = [
        sys.executable, "-m", "pytest", "-p", "tools.sklearn_suite.plugin",
        "-p", "no:cacheprovider", "--config-file", "/dev/null", "--rootdir", PACKAGE,
        "--quiet", "--no-summary", "--tb", "short", "--show-capture", "no", "--disable-warnings",
        "--results", results, *options, *(PACKAGE / test for test in tests),
    ]  # fmt: skip
    code = subprocess.run([*map(str, command)], check=False).returncode
    if not results.exists():
        sys.exit(f"the tests did not run: pytest ended with {code}")
    found: OUTCOMES = json.loads(results.read_text("utf-8"))
    return found


def main() -> int:
    """Run the tests, say what became of them, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog=".venv/bin/python -m tools.sklearn_suite", description=__doc__
    )
    parser.add_argument(
        "tests", nargs="*", help="as compose/tests or tests/test_pipeline.py::test_a; all if none"
    )
    parser.add_argument("--accel", action="store_true", help="accelerate scikit-learn's classes")
    parser.add_argument("--processes", default="logical", help="as --numprocesses of pytest-xdist")
    parser.add_argument("--out", type=Path, help="folder for what became of each test")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = asked.out or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        file = EXPECTED_ACCEL if asked.accel else EXPECTED
        expected = Expected.read(file)
        tests, options = asked.tests or expected.suites, ["--numprocesses", asked.processes]
        way = ["--accel"] if asked.accel else []
        ours = run(tests, folder / "ours.json", "--expected", file, *way, *options)
        (folder / "only.txt").write_text("\n".join(candidates(ours)), "utf-8")
        only = ["--plain", "--only", folder / "only.txt"]
        plain = run(tests, folder / "plain.json", *only, *options)
        found = Result(ours, plain, expected)
    complaints = found.complaints(whole=not asked.tests)
    print(*complaints, found.summary(), sep="\n")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
