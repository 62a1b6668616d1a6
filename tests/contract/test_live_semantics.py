"""The facts that the stand-ins imitate, in the source of the installed packages.

A release of RAPIDS that changes one of them fails here: then a stand-in lies differently, and
what our code does about it may be mended or dropped.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name

import pytest

from pipeline.optional import available
from tests.contract import snapshot

MISSING = [package for package in snapshot.PACKAGES if not available(package)]

pytestmark = [
    pytest.mark.contract_live,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def source(name: str) -> str:
    """Return the source of an object, white space made one."""
    found = resolve_name(name)
    return _plain(inspect.getsource(inspect.unwrap(getattr(found, "fget", found))))


def shipped(name: str) -> str:
    """Return a file that CuPy brings along."""
    folder = Path(str(resolve_name("cupy").__file__)).parent
    return _plain((folder / name).read_text(encoding="utf-8"))


def _plain(text: str) -> str:
    return " ".join(text.split())


FACTS: dict[str, tuple[Callable[[str], str], str, str]] = {
    "no foreign index is equal": (
        source,
        "cudf.core.index:Index.equals",
        "if not isinstance(other, Index) or len(self) != len(other): return False",
    ),
    "vectors of floats are sorted by their bits": (
        shipped,
        "cuda/cupy_thrust.cu",
        "std::conditional_t<std::is_floating_point<T>::value, thrust::less<T>,",
    ),
    "of which those of a NaN with its sign set are the least": (
        shipped,
        "_core/include/cupy/_cccl/cub/cub/util_type.cuh",
        "UnsignedBits mask = (key & HIGH_BIT) ? UnsignedBits(-1) : HIGH_BIT; return key ^ mask;",
    ),
    "what comes after a NaN is not distinct": (
        source,
        "cupy._manipulation.add_remove:_unique_1d",
        "_unique_update_mask_equal_nan(mask[1:], aux[:-1])",
    ),
    "of rows of text and of times all memory behind them is counted": (
        source,
        "cudf.core.column.column:ColumnBase._plc_memory_usage_buffers",
        "except NotImplementedError: # No typestr available (e.g. STRING) n += data.size",
    ),
    "rows are a view, unless there are none": (
        source,
        "cudf.core.indexed_frame:IndexedFrame._slice",
        "if len(range(start, stop, stride)) == 0:",
    ),
    "categories have the mask of the column, without its offset": (
        source,
        "cudf.core.column.column:ColumnBase.as_categorical_column",
        "codes_with_mask = codes.set_mask(self.mask, self.null_count)",
    ),
    "factorize looks at the values, and at no mask": (
        source,
        "cudf.core.column.column:ColumnBase.factorize",
        "cats = self.dropna() if use_na_sentinel else self",
    ),
    "integers with nulls come to the host by way of Arrow": (
        source,
        "cudf.core.column.column:ColumnBase.to_pandas",
        "np_array = pa_array.to_numpy(zero_copy_only=False, writable=True)",
    ),
    "values with nulls are float64": (
        source,
        "cudf.core.column.numerical:NumericalColumn.values",
        'elif dtype.kind != "f": dtype = np.dtype(np.float64)',
    ),
    "counting reads whether there are negatives": (
        source,
        "cupy:bincount",
        "if (x < 0).any(): # synchronize!",
    ),
    "and the greatest": (source, "cupy:bincount", "size = int(cupy.max(x)) + 1 # synchronize!"),
    "and has CUB make a histogram": (source, "cupy:bincount", "cub.cub_histogram(x, b, size+1)"),
    "what CuPy was given is never spilled": (
        source,
        "cudf.core.buffer.spillable_buffer:SpillableBufferOwner.spillable",
        "return not self.exposed and len(self._spill_locks) == 0",
    ),
    "the number of nulls is kept on the host": (
        source,
        "cudf.core.column.column:ColumnBase.has_nulls",
        "result = int(self.null_count) != 0",
    ),
}
"""What it says -> how to read it, where, and the lines."""


@pytest.mark.parametrize("fact", FACTS)
def test_the_source_says_so(fact: str) -> None:
    read, where, lines = FACTS[fact]
    assert lines in read(where)
