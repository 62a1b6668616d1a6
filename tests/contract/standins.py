"""Put the stand-ins where `import cudf`, `import cupy` and `import cuml` find them."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.optional import load
from pipeline.system import devices
from pipeline.system.gpu import Device, Probe
from tests.contract import arrays, csr, models, parquet, tables, text
from tests.contract.recorder import RECORDER, recorded
from tests.contract.verify import frozen

GPU = Probe("590.44", (Device("a stand-in", 2**34, (9, 0)),))


class Cudf(ModuleType):
    DataFrame = tables.DataFrame
    Series = tables.Series
    Index = tables.Index
    read_parquet = staticmethod(parquet.read_parquet)

    def from_pandas(self, table: Any, **options: Any) -> Any:
        """Upload a frame, a series or an index; NaN becomes null."""
        RECORDER.call("cudf", "from_pandas", (table,), options)
        if isinstance(table, pd.Index):
            upload(table.to_series())
            RECORDER.copied("device", "explicit", table.nbytes)
            return tables.Index(table)
        if isinstance(table, pd.Series):
            RECORDER.copied("device", "explicit", tables.memory(table))
            return tables.Series(*upload(table))
        columns = {name: upload(table[name]) for name in table.columns}
        RECORDER.copied("device", "explicit", tables.memory(table))
        host = pd.DataFrame({name: column for name, (column, _) in columns.items()})
        return tables.DataFrame(
            host.set_axis(table.columns, axis=1),
            {name: dtype for name, (_, dtype) in columns.items() if dtype},
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not frozen().has("cudf", name):
            raise AttributeError(f"module 'cudf' has no attribute {name!r}")
        return recorded("cudf", name, getattr(pd, name), tables.wrap, tables.unwrap)


class CudaMemoryResource:
    """A `cudaMalloc` an array: what RMM starts with."""


class CudaAsyncMemoryResource:
    """A pool of its own, which keeps what is freed."""

    threshold = 2**64 - 1


class cudaMemPool_t(int):  # noqa: N801
    """What CUDA's bindings name a pool by."""


class CudaAsyncViewMemoryResource:
    """CUDA's own pool, which keeps as much as it is told to."""

    def __init__(self, pool_handle: Any) -> None:
        if not isinstance(pool_handle, cudaMemPool_t):
            raise ValueError("pool_handle must be a cudaMemPool_t or CUmemoryPool")
        self.handle = int(pool_handle)

    @property
    def threshold(self) -> int:
        return int(load("cupy").cuda.runtime.threshold)


class Rmm(ModuleType):
    """The module `rmm.mr`: the resource that memory for new arrays is taken from."""

    CudaMemoryResource = CudaMemoryResource
    CudaAsyncMemoryResource = CudaAsyncMemoryResource
    CudaAsyncViewMemoryResource = CudaAsyncViewMemoryResource

    def __init__(self) -> None:
        super().__init__("rmm.mr")
        self._current: object = CudaMemoryResource()

    def get_current_device_resource(self) -> object:
        return self._current

    def set_current_device_resource(self, mr: object) -> None:
        self._current = mr


def rmm_cupy_allocator(size: int) -> None:
    """Stand for what has CuPy take its memory from RMM; importing cuDF or cuML sets it as well."""


def upload(column: pd.Series) -> tuple[pd.Series, Any]:
    """Return a column as cuDF would hold it, and its type where pandas has no such column.

    Follows `cudf.core.column.as_column`.
    """
    if column.dtype == "float16":
        raise TypeError("Unsupported type float16")
    if column.dtype != object:
        return column.copy(), None
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind == "boolean":
        return column.astype("boolean"), np.dtype(bool)
    if kind not in ("string", "empty"):
        raise TypeError(f"Cannot convert a {kind} of object type")
    return column.astype("str"), None


def install(patch: pytest.MonkeyPatch) -> None:
    """Replace the three packages and the search for a GPU until the patch is undone."""
    RECORDER.clear()
    RECORDER.every.clear()
    cupy = arrays.Module()
    found = {"cudf": Cudf("cudf"), "cupy": cupy, "cupy.cuda": cupy.cuda, **models.modules()}
    found |= {name: ModuleType(name) for name in ("cupyx", "cupyx.scipy")}
    found |= text.modules() | csr.modules() | {"rmm": ModuleType("rmm"), "rmm.mr": Rmm()}
    bindings = ModuleType("cuda.bindings.runtime")
    bindings.cudaMemPool_t = cudaMemPool_t  # type: ignore[attr-defined]
    allocators = ModuleType("rmm.allocators.cupy")
    allocators.rmm_cupy_allocator = rmm_cupy_allocator  # type: ignore[attr-defined]
    found |= {name: ModuleType(name) for name in ("cuda", "cuda.bindings", "rmm.allocators")}
    found |= {allocators.__name__: allocators}
    found |= {
        bindings.__name__: bindings,
        arrays.Special.OWNER: arrays.Special(arrays.Special.OWNER),
    }
    for name, module in found.items():
        module.__spec__ = ModuleSpec(name, None)
        patch.setitem(sys.modules, name, module)
    patch.setattr(devices, "obstacle", lambda: "")
    patch.setattr(devices.gpu, "probe", lambda: GPU)
