"""Look for known vulnerabilities of everything that is locked: ``.venv/bin/python -m tools.audit``.

pip-audit is asked about each lock, by its hashes alone: nothing is installed. It takes a
package that the service does not know for one without vulnerabilities, so its answer is
counted here: what was not looked up was not audited, and that is never taken for success.

The exit code is 0 where every package was looked up and none is vulnerable, 1 where one is,
and 69 where not all could be looked up; with ``--offline-tell`` the last is told and ends with 0.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
UNAVAILABLE = 69


class Audit(NamedTuple):
    """What is known of the packages of a lock."""

    looked_up: int
    vulnerable: list[str]
    """Package, version, identifiers and the version that fixes it, a line each."""
    unknown: list[str]
    """Why packages were not looked up, a line each."""


def read(answer: str, complaint: str) -> Audit:
    """Return what pip-audit said.

    Parameters
    ----------
    answer : str
        Its JSON; empty where it failed.
    complaint : str
        What it wrote to standard error.

    Examples
    --------
    >>> read('{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}', "")
    Audit(looked_up=1, vulnerable=[], unknown=[])
    >>> read("", "ConnectionError: no route").unknown
    ['ConnectionError: no route']
    """
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (complaint.strip().splitlines() or ["pip-audit said nothing"])[-1]
        return Audit(0, [], [last[:200]])
    known = [each for each in packages if "skip_reason" not in each]
    unknown = [str(each["skip_reason"]) for each in packages if "skip_reason" in each]
    if not packages:
        unknown = ["pip-audit found no package in the lock"]
    return Audit(len(known), [_told(each) for each in known if each["vulns"]], unknown)


def _told(package: dict[str, Any]) -> str:
    found = "; ".join(
        f"{each['id']}, fixed in {', '.join(each.get('fix_versions') or ['no version yet'])}"
        for each in package["vulns"]
    )
    return f"{package['name']} {package['version']}: {found}"


def ask(lock: Path, program: list[str]) -> Audit:
    """Ask pip-audit about a lock."""
    options = ["--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(
        [*program, "--requirement", str(lock), *options, "--timeout", "15"],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return read(done.stdout, done.stderr)


def report(audits: dict[str, Audit]) -> int:
    """Print what was found, and return the exit code."""
    for name, audit in audits.items():
        print(f"{name}: {audit.looked_up} packages looked up, {len(audit.vulnerable)} vulnerable")
        for line in audit.vulnerable:
            print(f"  VULNERABLE {line}")
        if audit.unknown:
            print(f"  NOT AUDITED: {len(audit.unknown)}, such as: {audit.unknown[0]}")
    if any(audit.vulnerable for audit in audits.values()):
        return 1
    if any(audit.unknown for audit in audits.values()):
        print("not audited: the service cannot be reached from here, or does not know packages")
        return UNAVAILABLE
    return 0


def main() -> int:
    """Audit the locks that are named, all by default."""
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tools.audit", description=__doc__)
    parser.add_argument("locks", nargs="*", type=Path, help="requirements with hashes")
    parser.add_argument("--offline-tell", action="store_true", help="69 becomes 0")
    given = parser.parse_args()
    locks = given.locks or sorted((ROOT / "requirements").glob("*.txt"))
    program = [sys.executable, "-m", "pip_audit"]
    code = report({lock.stem: ask(lock, program) for lock in locks})
    return 0 if code == UNAVAILABLE and given.offline_tell else code


if __name__ == "__main__":
    sys.exit(main())
