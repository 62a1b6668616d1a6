"""Scripts that start workers, written with and without the guard of their main part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CALL = "check_main_guard('this')"
IMPORT = "from pipeline.distributed.guard import check_main_guard"


def run(code: str, *options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, options)],
        input=code, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (f"{CALL}", 2),
        (f"def main():\n    {CALL}\n\nmain()", 5),
        (f"if __name__ == '__main__':\n    pass\n{CALL}", 4),
        (f"if 1:\n    {CALL}", 3),
    ],
    ids=["bare", "in a function", "below the guard", "another condition"],
)
def test_a_script_that_its_workers_would_run_again_is_refused(
    tmp_path: Path, code: str, line: int
) -> None:
    script = tmp_path / "mine.py"
    script.write_text(f"{IMPORT}\n{code}\n")
    assert run("", script).stderr.splitlines()[-1] == (
        f"pipeline.errors.ConfigError: mine.py, line {line}: this starts processes, which import "
        'this script; write the line below `if __name__ == "__main__":`'
    )


@pytest.mark.parametrize(
    "code",
    [
        f"if __name__ == '__main__':\n    {CALL}",
        f"def main():\n    {CALL}\n\nif '__main__' == __name__:\n    main()",
        f"if __name__ == '__main__' and True:\n    for i in range(2):\n        {CALL}",
    ],
    ids=["guarded", "in a function", "turned round"],
)
def test_a_guarded_script_passes(tmp_path: Path, code: str) -> None:
    script = tmp_path / "mine.py"
    script.write_text(f"{IMPORT}\n{code}\n")
    assert run("", script).stderr == ""


@pytest.mark.parametrize("options", [["-"], ["-c", f"{IMPORT}\n{CALL}"]], ids=["stdin", "text"])
def test_what_is_no_file_is_not_imported_by_workers(options: list[str]) -> None:
    assert run(f"{IMPORT}\n{CALL}\n", *options).stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("guarded", [False, True])
def test_a_cluster_is_started_by_a_guarded_script_alone(tmp_path: Path, guarded: bool) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        f"import pipeline\nif {'__name__ == ' + repr('__main__') if guarded else True}:\n"
        "    with pipeline.cluster('local', workers=1) as workers:\n"
        "        print(len(workers.workers()))\n"
    )
    done = run("", script)
    assert done.stdout == ("1\n" if guarded else "")
    assert ("mine.py, line 3: pipeline.cluster starts" in done.stderr) == (not guarded)
