"""What XGBoost takes of the installed cuDF, and where it takes its memory from."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

from pipeline.optional import available

pytestmark = [
    pytest.mark.contract_live,
    pytest.mark.skipif(not available("cudf"), reason="not installed: cudf"),
]


class Column:
    """A column of cuDF with nulls, as far as its interface goes; the mask is as cuDF's is."""

    def __init__(self, rows: int, mask: Any) -> None:
        self.dtype = np.dtype("float64")
        self.__cuda_array_interface__ = {
            "shape": (rows,), "typestr": "<f8", "data": (64, True), "version": 3, "mask": mask,
        }  # fmt: skip


class Mask:
    def __init__(self, n_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (n_bytes,), "typestr": "|u1", "data": (128, True), "version": 3,
        }  # fmt: skip


def test_masks_are_bytes_in_cudf_and_bits_to_xgboost() -> None:
    from cudf.core.buffer.buffer import Buffer
    from xgboost._data_utils import cuda_array_interface

    assert '"typestr": "|u1"' in inspect.getsource(Buffer)
    made = json.loads(cuda_array_interface(Column(13, Mask(64))))
    assert (made["mask"]["typestr"], made["mask"]["shape"]) == ("|t1", [13])


def test_of_a_view_cudf_gives_the_values_of_its_rows_and_the_mask_of_the_first_ones() -> None:
    """Why `containers.with_own_nulls` copies."""
    from cudf import Series
    from cudf.core.column.column import ColumnBase

    given = inspect.getsource(vars(ColumnBase)["__cuda_array_interface__"].fget)
    assert "data_buf.ptr + self.offset * self.dtype.itemsize" in given
    assert 'output["mask"] = mask' in given
    assert "null_mask()" in inspect.getsource(vars(ColumnBase)["mask"].func)
    assert "to_pylibcudf(), metadata" in inspect.getsource(inspect.unwrap(Series.to_pylibcudf))
    assert callable(resolve_name("pylibcudf:Column").offset)


def test_categories_are_asked_for_as_cudf_gives_them() -> None:
    from cudf.core.column.column import ColumnBase
    from xgboost import _data_utils

    asked = inspect.getsource(_data_utils._cudf_str_cat_inf)
    assert "cats._column.to_pylibcudf()" in asked
    assert list(inspect.signature(ColumnBase.to_pylibcudf).parameters) == ["self"]


def test_it_is_built_for_the_cuda_of_rapids_and_has_a_pool_of_memory() -> None:
    import xgboost

    built = xgboost.build_info()
    assert built["USE_CUDA"]
    assert built["CUDA_VERSION"][0] == 13
    assert not built["USE_RMM"]  # else RMM's own memory would be the one to take
    assert "use_cuda_async_pool" in xgboost.get_config()


def test_exact_trees_are_refused_on_a_gpu() -> None:
    import xgboost

    library = Path(xgboost.build_info()["libxgboost"]).read_bytes()
    assert b"The `exact` tree method is not supported on GPU." in library


def test_classes_of_a_target_on_the_device_are_found_there() -> None:
    from xgboost import XGBClassifier

    taken = inspect.getsource(XGBClassifier.fit)
    assert "elif _is_cupy_alike(y):" in taken
    assert "classes = cp.unique(y)" in taken
