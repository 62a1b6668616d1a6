"""The file of a study, cut anywhere, full, or something else."""

from __future__ import annotations

import pickle
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from pipeline.errors import DataError, OutputError
from pipeline.tuning.journal import Journal
from tests.commands import python

optuna.logging.set_verbosity(optuna.logging.WARNING)
FULL = """
import resource, signal, sys
from pathlib import Path
from pipeline.errors import OutputError
from pipeline.tuning.journal import Journal
path = Path(sys.argv[1])
with Journal(path) as journal:
    journal.append_logs([{"op_code": 0, "n": 0}])
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, -1))
    try:
        journal.append_logs([{"op_code": 1, "text": "too long for what is left"}])
    except OutputError as error:
        print(error)
"""


def fill(path: Path, trials: int) -> None:
    """Write some trials, the lines of each together."""
    with Journal(path) as journal:
        storage = JournalStorage(journal)
        study = optuna.create_study(storage=storage, study_name="a", load_if_exists=True)
        for _ in range(trials):
            with journal.together():
                trial = study.ask()
                x, y = (trial.suggest_float(name, 0, 1) for name in "xy")
                study.tell(trial, x + y)


def trials(path: Path) -> list[dict[str, float]]:
    with Journal(path) as journal:
        known = optuna.load_study(study_name=None, storage=JournalStorage(journal)).trials
    assert all(each.state.is_finished() for each in known)
    return [each.params for each in known]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journal") / "study"
    fill(path, 3)
    return path


def test_optuna_reads_the_file_as_its_own(file: Path) -> None:
    theirs = optuna.load_study(
        study_name="a", storage=JournalStorage(JournalFileBackend(str(file)))
    ).trials
    assert [each.params for each in theirs] == trials(file)


def test_cut_after_any_byte_it_goes_on_behind_the_last_trial_that_is_whole(
    file: Path, tmp_path: Path
) -> None:
    content, every, counts = file.read_bytes(), trials(file), set()
    cut = tmp_path / "cut"
    for size in range(content.find(b"\n") + 1, len(content), 7):
        cut.write_bytes(content[:size])
        kept = trials(cut)
        assert kept == every[: len(kept)]
        counts.add(len(kept))
        assert cut.read_bytes() == content[:size], "only written to where something is added"
        fill(cut, 1)
        assert trials(cut)[:-1] == kept
    assert counts == {0, 1, 2}


@pytest.mark.parametrize("size", [0, 1, 5, 20])
def test_cut_within_its_first_line_it_begins_anew(file: Path, tmp_path: Path, size: int) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(file.read_bytes()[:size])
    fill(cut, 1)
    assert len(trials(cut)) == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a,b\n1,2\n", 1),
        (b"no line", 1),
        (b'{"op_code":0,"a":1}\nb\n{"op_code":1}\n', 2),
        (b'{"op_code":0,"a":1}\n[1]\n{"op_code":1}\n', 2),
        (b"\x00\xff\x00\n", 1),
    ],
)
def test_what_is_no_journal_is_refused_and_left_as_it_is(
    tmp_path: Path, content: bytes, line: int
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"table.csv, line {line}: no journal of Optuna; name"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_full_disk_loses_nothing_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "study"
    done = python("-c", FULL, path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{path}: File too large; trials that have ended are kept: make")
    assert path.read_text() == '{"op_code":0,"n":0}\n'


def write_then(journal: Journal, error: type[BaseException]) -> None:
    with journal.together():
        journal.append_logs([{"op_code": 1}])
        raise error


def test_lines_of_a_block_that_fails_are_not_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "study") as journal:
        journal.append_logs([{"op_code": 0, "a": 0}])
        with pytest.raises(KeyboardInterrupt):
            write_then(journal, KeyboardInterrupt)
        journal.append_logs([{"op_code": 2}])
    with Journal(tmp_path / "study") as again:
        assert [log["op_code"] for log in again.read_logs(0)] == [0, 2]


def test_a_copy_reads_and_does_not_write(tmp_path: Path) -> None:
    with Journal(tmp_path / "study") as journal:
        journal.append_logs([{"op_code": 0}])
        copy = pickle.loads(pickle.dumps(journal))
        assert list(copy.read_logs(0)) == [{"op_code": 0}]
        with pytest.raises(OutputError, match="the search has ended; fit again"):
            copy.append_logs([{"op_code": 1}])
