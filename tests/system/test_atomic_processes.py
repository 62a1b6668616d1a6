"""Publishing beside other processes, and being killed at it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from pipeline.errors import OutputLocked
from tests.commands import python, started
from tests.names import one_in
from tests.system.test_atomic import fail, holds, put

HOLD = """
import sys, time
from pathlib import Path
from pipeline.system.atomic import publishing
with publishing(Path(sys.argv[1])) as draft:
    (draft / "half").touch()
    print("holding", flush=True)
    time.sleep(60)
"""
READ = """
import os, sys
from pathlib import Path
folder, seen = Path(sys.argv[1]), set()
print("reading", flush=True)
while len(seen) < 5:
    before, other, after = ((folder / n).read_text() for n in ("record.json", "b", "record.json"))
    if before == after:
        assert other == before, f"{other} beside {before}"
        seen.add(before)
print(len(seen))
"""
ENTER = """
import sys
from contextlib import suppress
from pathlib import Path
from pipeline.errors import OutputLocked
from pipeline.system.atomic import locked
path, entered = Path(sys.argv[1]), 0
while entered < 3_000:
    with suppress(OutputLocked), locked(path):
        path.with_name("inside").touch(exist_ok=False)
        path.with_name("inside").unlink()
        entered += 1
"""
KILL = """
import os, signal, sys
from pathlib import Path
from pipeline.system import atomic

class NoExchange:
    def __init__(self, *args, **options): pass

def put(folder, text):
    with atomic.publishing(folder) as draft:
        (draft / "record.json").write_text(text)
        (draft / "inner").mkdir()
        (draft / "inner" / "b").write_text(text)

def killed(folder, step):
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = [step]
    def count(event, args):
        if event.startswith(("open", "os.", "shutil.", "fcntl.", "ctypes.dlsym")):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    put(folder, "new")
    os._exit(0)

home, step, code = Path(sys.argv[1]), 0, -9
if sys.argv[2] == "fallback":
    atomic.ctypes.CDLL = NoExchange
while code == -9:
    step += 1
    folder = home / str(step) / "results"
    put(folder, "old")
    code = killed(folder, step)
assert code == 0, code
print(step)
"""


def test_a_second_process_has_to_wait_and_the_lock_dies_with_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    put(folder, "old")
    with started("-c", HOLD, folder) as holder:
        assert holder.stdout.readline() == "holding\n"
        with pytest.raises(OutputLocked, match="another process is writing here") as caught:
            put(folder, "mine")
        assert caught.value.exit_code == 75
        draft = folder.with_name(f".results.draft-{holder.pid}")
        assert (draft / "half").exists(), "a living run's draft was not taken for a dead one's"
    assert (folder / "record.json").read_text() == "old"
    put(folder, "mine")
    assert holds(folder, "mine")


def test_of_many_processes_one_at_a_time_is_inside_and_no_lock_file_stays(tmp_path: Path) -> None:
    with ExitStack() as stack:
        path = tmp_path / "results"
        every = [stack.enter_context(started("-c", ENTER, path)) for _ in range(3)]
        assert [each.communicate(timeout=300)[1] for each in every] == [""] * 3
        assert [each.returncode for each in every] == [0] * 3
    assert [*tmp_path.iterdir()] == []


def test_a_reader_never_misses_the_results_nor_sees_them_mixed(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    put(folder, "0")
    with started("-c", READ, folder) as reader:
        assert reader.stdout.readline() == "reading\n"
        number = 0
        while reader.poll() is None:
            number += 1
            put(folder, str(number))
        said, errors = reader.communicate(timeout=300)
    assert (reader.returncode, errors) == (0, "")
    assert said == "5\n", "the reader saw several versions"


@pytest.mark.parametrize("way", one_in(2, ["exchange", "fallback"]))
def test_killed_at_any_step_the_results_are_the_old_or_the_new_ones(
    tmp_path: Path, way: str
) -> None:
    done = python("-c", KILL, tmp_path, way)
    assert done.code == 0, done.err
    steps, found, aside = int(done.out), [], 0
    for step in range(1, steps):
        folder = tmp_path / str(step) / "results"
        aside += not folder.exists()
        if folder.exists():
            found.append((folder / "record.json").read_text())
            assert (folder / "inner" / "b").read_text() == found[-1]
        fail_then_put(folder)
    assert found.count("old") >= 10
    assert found.count("new") >= 2, "kills fell on both sides of the exchange"
    assert aside == (way == "fallback"), "without exchange there is one moment without a name"


def fail_then_put(folder: Path) -> None:
    """The next run finds whole results, even if it fails; the one after it leaves nothing."""
    with pytest.raises(ZeroDivisionError):
        fail(folder, ZeroDivisionError)
    assert (folder / "record.json").read_text() in ("old", "new")
    put(folder, "next")
    assert holds(folder, "next")
