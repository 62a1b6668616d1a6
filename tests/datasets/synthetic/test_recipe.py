from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from datasets.errors import DataError
from datasets.synthetic import Recipe, prepare, rows


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": "bin"}, "kind: unknown kind 'bin'; did you mean 'binary'"),
        ({"rows": 99}, "rows: 99 is invalid; pass an integer from 100"),
        ({"columns": 0}, "columns: 0"),
        ({"seed": -1}, "seed: -1"),
        ({"cardinality": 1}, "cardinality: 1"),
    ],
)
def test_what_is_out_of_range_is_named(given, told) -> None:
    with pytest.raises(ValueError, match=told):
        Recipe(**given)


RECIPE = Recipe("ranking", rows=12_850, columns=11)


def test_a_table_is_written_once_a_row_group_at_a_time(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(rows, "GROUP_ROWS", 1_000)
    path = prepare(tmp_path, RECIPE)
    assert path.parent.name == "ranking-12850x11-5000-seed0"
    file = pq.ParquetFile(path, page_checksum_verification=True)
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sizes == [1_000] * 12 + [850]
    assert file.read().equals(rows.table(RECIPE, 0, RECIPE.rows))
    before = path.stat().st_mtime_ns
    assert prepare(tmp_path, RECIPE) == path
    assert path.stat().st_mtime_ns == before
    path.write_bytes(path.read_bytes()[:-9] + b"x" * 9)
    with pytest.raises(DataError, match=f"remove the folder {path.parent}"):
        prepare(tmp_path, RECIPE)
