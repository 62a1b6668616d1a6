"""Searches that are killed, and what would be seen if a kill did harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import OutputLocked
from tests.commands import python, started
from tools.kill_search import Watch, X, make_search

HOLD = """
import sys, time
from pathlib import Path
from tools.kill_search import X, Noted, make_search
folder = Path(sys.argv[1])
fit = Noted.fit
def slow(self, *rows):
    if not (folder / "second").exists():
        print("fitting", flush=True)
    while not (folder / "second").exists():
        time.sleep(0.01)
    return fit(self, *rows)
Noted.fit = slow
found = make_search(folder, 0, folder / "study").fit(X)
print(repr(found.best_score_), flush=True)
"""


@pytest.mark.slow
def test_kills_lose_and_repeat_nothing() -> None:
    done = python("-m", "tools.kill_search", "--kills", 40, "--seed", 1)
    assert done.out.startswith("40 kills of "), done.err
    assert ", 0 faults, " in done.out
    assert done.code == 0


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("workers", [1, 2])
def test_kills_on_a_cluster_lose_and_repeat_nothing(workers: int) -> None:
    done = python("-m", "tools.kill_search", "--kills", 4, "--seed", 1, "--workers", workers)
    assert ", 0 faults, " in done.out, done.err
    assert done.code == 0


OUTLIVED = """
import subprocess, sys, time
from tools import kill_search
def work():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    time.sleep(600)
kill_search.FOREVER = 1
kill_search.in_child(work, [(0.5, kill_search.kill)], lambda: True)
"""


@pytest.mark.slow
def test_a_process_that_outlives_its_search_is_seen() -> None:
    done = python("-c", OUTLIVED)
    assert "RuntimeError: a search ended with -9, and left [psutil.Process(pid=" in done.err


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    make_search(tmp_path, 0, tmp_path / "study").fit(X)
    watch = Watch(tmp_path / "study", tmp_path / "notes")
    watch.look()
    watch.look()
    assert watch.faults == []
    return watch


def test_a_lost_trial_is_seen(watch: Watch) -> None:
    lines = watch.study.read_bytes().splitlines(keepends=True)
    watch.study.write_bytes(b"".join(lines[:-4]))
    watch.look()
    assert [fault.partition(":")[0] for fault in watch.faults] == ["trial 24"]


def test_a_repeated_fit_is_seen(watch: Watch) -> None:
    notes = watch.notes.read_text().splitlines(keepends=True)
    watch.notes.write_text("".join([*notes, notes[3]]))
    watch.look()
    assert watch.faults == [f"fitted again: {notes[3].strip()}"]


def test_another_result_is_seen(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, other = (make_search(tmp_path / "other", seed).fit(X) for seed in (0, 1))
    watch.compare(first, other, lost=0)
    assert "params: other ones than without kills" in watch.faults
    watch.faults.clear()
    watch.compare(other, None, lost=0)
    assert watch.faults == []
    other.cv_results_["split1_test_score"][0] += 0.001
    watch.compare(other, None, lost=0)
    assert [", fold 1: the score is " in fault for fault in watch.faults] == [True]


@pytest.mark.slow
def test_a_second_process_ends_with_75_and_the_first_goes_on(tmp_path: Path) -> None:
    with started("-c", HOLD, tmp_path) as first:
        assert first.stdout.readline() == "fitting\n"
        with pytest.raises(OutputLocked, match="study: another run is writing here") as caught:
            make_search(tmp_path, 0, tmp_path / "study").fit(X)
        assert caught.value.exit_code == 75
        (tmp_path / "second").touch()
        said, errors = first.communicate(timeout=300)
    assert (first.returncode, errors) == (0, "")
    assert said == f"{make_search(tmp_path, 0).fit(X).best_score_!r}\n"
