"""What the stand-in of cuDF reads from Parquet, and what it does not tell.

Follows `cudf.io.parquet` and libcudf's reader: dictionaries come as the values they stand for,
dates without their zone, days as seconds, columns that are not there not at all, and labels of
rows that pandas wrote as the index. Paths are patterns, as `fsspec` expands them.
"""

from __future__ import annotations

from collections.abc import Sequence
from glob import iglob
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.contract.recorder import RECORDER
from tests.contract.tables import DataFrame

MASKED = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
}


def read_parquet(paths: Sequence[str], **options: Any) -> DataFrame:
    RECORDER.call("cudf", "read_parquet", (paths,), options)
    paths = [found for path in paths for found in iglob(path)]  # noqa: PTH207
    groups = options.get("row_groups") or [None] * len(paths)
    wanted = options.get("columns")
    parts = [_part(path, each, wanted or ()) for path, each in zip(paths, groups, strict=True)]
    table = pa.concat_tables(parts)
    host, plain = _columns(table)
    if options.get("use_pandas_metadata", True):
        host = _labelled(host, paths[0], table.num_columns)
    return DataFrame(host[[name for name in wanted or host.columns if name in host]], plain)


def _part(path: str, groups: Sequence[int] | None, names: Sequence[str]) -> pa.Table:
    with pq.ParquetFile(path) as file:
        every = range(file.num_row_groups)
        there = [name for name in names if name in file.schema_arrow.names]
        return file.read_row_groups(list(every if groups is None else groups), there or None)


def _columns(table: pa.Table) -> tuple[pd.DataFrame, dict[Any, Any]]:
    made, plain = {}, {}
    for name in table.column_names:
        column = _plain(table[name])
        made[name] = column.to_pandas(types_mapper=MASKED.get if column.null_count else None)
        if column.type in MASKED:
            plain[name] = column.type.to_pandas_dtype()
    return pd.DataFrame(made), {name: pd.Series(dtype=kind).dtype for name, kind in plain.items()}


def _plain(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp(column.type.unit))
    return column.cast(pa.timestamp("s")) if pa.types.is_date(column.type) else column


def _labelled(host: pd.DataFrame, path: str, width: int) -> pd.DataFrame:
    stored = (pq.read_schema(path).pandas_metadata or {}).get("index_columns", [])
    names = [name for name in stored if isinstance(name, str)]
    if not names:
        return host
    return host.set_axis(pq.read_table(path, columns=names).to_pandas().index[: len(host)])
