"""What the stand-in of `cudf.read_parquet` is built on, in the installed cuDF."""

from __future__ import annotations

import inspect
import mmap
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.optional import available, load

pytestmark = [
    pytest.mark.contract_live,
    pytest.mark.skipif(not available("cudf"), reason="not installed: cudf"),
]


@pytest.fixture(scope="module")
def parquet() -> Any:
    return load("cudf.io.parquet")


def test_rows_whose_conditions_fail_come_all_the_same(parquet: Any) -> None:
    """A test that cuDF does not know, as "=", is a `KeyError` to it."""
    source = inspect.getsource(parquet._apply_post_filters)
    assert "except (KeyError, TypeError):" in source
    assert source.rstrip().endswith("return df")
    assert '"==": operator.eq' in source
    assert '"=": operator.eq' not in source


def test_zones_and_dictionaries_are_asked_of_no_one(parquet: Any) -> None:
    """Nothing between libcudf and the frame looks at the Arrow schema."""
    source = inspect.getsource(parquet._read_parquet) + inspect.getsource(parquet._process_metadata)
    assert not [word for word in ("ARROW:schema", "tz_localize", "Categorical") if word in source]
    options = load("pylibcudf.io.parquet").ParquetReaderOptionsBuilder
    assert not [name for name in dir(options) if "dict" in name.lower()]


def test_columns_that_are_not_there_are_left_out(parquet: Any) -> None:
    assert inspect.signature(parquet.read_parquet).parameters["ignore_missing_columns"].default


def test_row_groups_are_left_as_they_are_where_there_are_no_partitions(parquet: Any) -> None:
    paths, groups = ["a", "b"], [[0], [2]]
    found = parquet._process_dataset(
        paths=paths, fs=None, filters=None, row_groups=groups, dataset_kwargs={}
    )
    assert found == (paths, groups, [], {})


def test_pushed_down_conditions_compare_with_64_bits_only(parquet: Any) -> None:
    """Why conditions are not pushed down to libcudf, which compares values of one type alone."""
    source = inspect.getsource(parquet.make_literal)
    assert "plc.Scalar.from_py(_raise_for_unsupported_scalar_types(v))" in source
    assert "categorical_partitions is None" in inspect.getsource(parquet.read_parquet)
    library = Path(str(load("libcudf").__file__)).parent / "lib64" / "libcudf.so"
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        assert held.find(b"An AST expression was provided non-matching operand types.") > 0


def test_categories_of_pandas_are_a_type_of_cudf() -> None:
    source = inspect.getsource(load("cudf").dtype)
    assert "CategoricalDtype(pd_dtype.categories, pd_dtype.ordered)" in source
    assert isinstance(pd.CategoricalDtype(["a"]), pd.api.extensions.ExtensionDtype)


def test_dates_get_a_zone_and_keep_the_point_in_time() -> None:
    dates = load("cudf.core.series")
    kinds = [each for each in vars(dates).values() if hasattr(each, "tz_localize")]
    assert any(hasattr(each, "tz_convert") for each in kinds)
    kind = load("cudf.core._internals.timezones").get_compatible_timezone
    assert str(kind(pd.DatetimeTZDtype("us", "Europe/Berlin")).tz) == "Europe/Berlin"
    with pytest.raises(NotImplementedError, match="cudf does not support"):
        kind(pd.DatetimeTZDtype("us", "+01:30"))
    source = inspect.getsource(load("cudf.core.column.datetime").DatetimeTZColumn.tz_convert)
    assert "ColumnBase.create(self.plc_column, target_dtype)" in source


def test_frames_of_cudf_are_known_to_dask_once_dask_cudf_is_there() -> None:
    load("dask_cudf")
    known = load("dask.dataframe").get_collection_type
    assert known.dispatch(load("cudf").DataFrame) is not known.dispatch(object)
