from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pipeline.benchmark.record.results import dumps
from pipeline.benchmark.record.tuning_record import load_tuning
from pipeline.errors import DataError
from tests.benchmark import tunings


def test_what_is_no_record_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    with pytest.raises(DataError, match="no such file; make one with `make tune`"):
        load_tuning(path)
    path.write_text('{"schema": "pipeline.results/2"}')
    with pytest.raises(DataError, match=r"not a pipeline\.tuning/1 file"):
        load_tuning(path)


def test_a_record_of_an_older_version_is_read(tmp_path: Path) -> None:
    record = tunings.normal()
    known = msgspec.json.decode(dumps(record))
    known["searches"][0]["trials"][0]["first_look"] = 0.7
    (tmp_path / "tuning.json").write_bytes(msgspec.json.encode(known))
    assert load_tuning(tmp_path / "tuning.json") == record
