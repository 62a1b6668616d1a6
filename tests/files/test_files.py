from __future__ import annotations

import hashlib
from pathlib import Path

from pipeline.files import files


def test_the_digest_and_the_size_of_a_file_are_those_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)))
    assert files.digest(path) == hashlib.sha256(bytes(range(256))).hexdigest()
    assert files.byte_size(path) == 256


def test_those_of_a_folder_are_of_its_parquet_files_in_order(tmp_path: Path) -> None:
    names = ["b.parquet", "a.parquet", "_hidden.parquet", ".tmp/c.parquet", "notes.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [path.name for path in files.table_files(tmp_path)] == ["a.parquet", "b.parquet"]
    lines = "".join(
        f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in sorted(names[:2])
    )
    assert files.digest(tmp_path) == hashlib.sha256(lines.encode()).hexdigest()
    assert files.byte_size(tmp_path) == len("a.parquet" + "b.parquet")
