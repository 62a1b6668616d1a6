from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.benchmark.tuning_record import load_tuning
from pipeline.errors import DataError


def test_what_is_no_record_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    with pytest.raises(DataError, match="no such file; make one with `make tune`"):
        load_tuning(path)
    path.write_text('{"schema": "pipeline.results/2"}')
    with pytest.raises(DataError, match=r"not a pipeline\.tuning/1 file"):
        load_tuning(path)
