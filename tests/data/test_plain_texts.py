"""Texts of tables that are no CSV files come to the values that a CSV file would have."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from pipeline.data.plain_texts import formats_of_texts
from pipeline.data.read import read_arrow
from pipeline.data.table_format import TableFormat

COLUMNS = {
    "days": ["2021-03-01", "2021-12-31", None],
    "minutes": ["2021-03-01 10:00", None, "2021-03-02 23:59"],
    "of two lengths": ["2021-03-01 10:00", "2021-03-01 10:00:05", None],
    "parts of seconds": ["2021-03-01T10:00:00.000", None, "2021-03-01T10:00:00.250"],
    "universal": ["2021-03-01T10:00:00Z", "2021-03-01T11:00:00Z", None],
    "offsets": ["2021-03-01T10:00:00.5+02:00", "2021-03-01T10:00:00.5-01:00", None],
    "numbers": ["1", "2.5", None],
    "whole numbers": ["1", "-2", "3"],
    "truth": ["true", "False", "true"],
    "words": ["x", "1", None],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_text_is_read_as_in_csv(name: str, tmp_path: Path) -> None:
    table = pa.table({name: pa.array(COLUMNS[name], pa.string()), "n": [1, 2, 3]})
    formats = {each: format for each, format, _ in formats_of_texts(table, ["n"])}
    found = read_arrow(table, TableFormat(columns=formats)).to_pandas()
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    expected = read_arrow(tmp_path / "a.csv").to_pandas()
    pd.testing.assert_series_equal(found[name], expected[name], check_dtype=name != "whole numbers")


def test_columns_that_have_a_format_are_let_be() -> None:
    assert not list(formats_of_texts(pa.table({"a": ["1"]}), ["a"]))
