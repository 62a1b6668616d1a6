"""Print the test files of what changed since the branch left `main`, for `make check`.

A module has its tests at the same place under `tests/`: `pipeline/data/frames.py` in
`tests/data/test_frames*.py`. The test of the layers is always among them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

ALWAYS = Path("tests/test_layers.py")
OF_BUILD = Path("tests/test_make.py")
OF_TASKS = Path("tests/benchmark/test_tasks.py")


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed_files() -> set[Path]:
    """Return the files that differ from where the branch left `main`, committed or not."""
    known = bool(git("branch", "--list", "main"))
    (base,) = git("merge-base", "main", "HEAD") if known else ["HEAD"]
    changed = git("diff", "--name-only", "--diff-filter=d", base)
    return {Path(line) for line in changed + git("ls-files", "--others", "--exclude-standard")}


def tests_of(file: Path) -> Iterator[Path]:
    """Yield the test files of a file of the repository."""
    top, *folders = file.parent.parts or ("",)
    if top == "tests" and file.match("test_*.py"):
        yield file
    elif top == "tasks":
        yield OF_TASKS
    elif file.suffix == ".py":
        package = folders if top == "pipeline" else [top, *folders]
        yield from Path("tests", *package).glob(f"test_{file.stem}*.py")
    elif top in {"", ".ci"}:
        yield OF_BUILD


def main() -> None:
    """Print them, one on a line."""
    tests = {test for file in changed_files() for test in tests_of(file)}
    print(*sorted(tests | {ALWAYS}), sep="\n")


if __name__ == "__main__":
    main()
