"""A stand-in for CuPy: NumPy inside, CuPy's manners outside.

Stricter than CuPy where that keeps the code honest: NumPy's own functions are
refused on its arrays, CuPy's functions take no host array but to upload it,
and one-dimensional arrays are not iterated over, one kernel an element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
from scipy import special

from pipeline.optional import load
from tests.contract.recorder import LIVE, RECORDER, OnDevice, Refused, operator, recorded
from tests.contract.verify import frozen

OWNER = "cupy.ndarray"
UPLOADS = ("array", "asarray")
NUMERIC = "biufc"
ADDED = ("int32", "float16", "float32", "float64", "uint32", "uint64")
"""Types that CUDA adds to from many threads at once."""
OPERATORS = (
    "add sub mul truediv floordiv mod pow and or xor matmul eq ne lt le gt ge neg abs invert "
    "radd rsub rmul rtruediv rfloordiv rmod rpow rand ror rxor iadd isub imul itruediv iand ior"
)
SCALARS = np.generic | str | int | float | complex | type | np.dtype | slice | type(...) | None


def wrap(result: Any) -> Any:
    """Return a NumPy result as CuPy would: arrays on the device, even for one number."""
    if isinstance(result, np.ndarray | np.generic):
        return ndarray(np.asarray(result))
    if isinstance(result, tuple | list):
        return type(result)(map(wrap, result))
    return result


def unwrap(value: Any) -> Any:
    """Return an argument for NumPy, refusing a host array."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise Refused(f"an array of {value.shape} is on the host; CuPy takes its own arrays")
    if type(value) in (tuple, list):
        return type(value)(map(unwrap, value))
    if isinstance(value, SCALARS):
        return value
    raise Refused(f"CuPy takes no {type(value).__name__}")


def _key(index: Any) -> Any:
    """Return an index; CuPy uploads one that is an array on the host."""
    if isinstance(index, tuple):
        return tuple(map(_key, index))
    if isinstance(index, np.ndarray | list):
        uploaded = np.asarray(index)
        RECORDER.copied("device", "index", uploaded.nbytes)
        return uploaded
    if isinstance(index, ndarray) and index._host.dtype == bool:
        RECORDER.copied("host", "scalar", 4)  # how many are chosen
    return unwrap(index)


class ndarray(OnDevice):  # noqa: N801
    __module__ = "cupy"
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: np.ndarray) -> None:
        if host.dtype.kind not in NUMERIC:
            raise Refused(f"CuPy has no arrays of {host.dtype}")
        self._host = host
        LIVE.hold(host)

    def _call(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return _recorded(OWNER, name, function)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not frozen().has(OWNER, name):
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        member = getattr(self._host, name)
        if name == "nonzero":
            member = counted(member)
        if not callable(member):
            RECORDER.call(OWNER, name)
            return wrap(member) if isinstance(member, np.ndarray) else member
        return self._call(name, member)

    def argsort(self, axis: int = -1, kind: Any = None) -> ndarray:
        RECORDER.call(OWNER, "argsort", (axis, kind))
        return ndarray(argsort(self._host, axis, kind))

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        RECORDER.call(OWNER, "sort", (axis, kind))
        self._host[...] = sort(self._host, axis, kind)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> ndarray:
        """Cast; a NaN becomes the least integer without a word."""
        RECORDER.call(OWNER, "astype", (dtype, *args), kwargs)
        with np.errstate(invalid="ignore"):
            made = self._host.astype(dtype, *args, **kwargs)
        if made.dtype == np.int64 and self._host.dtype.kind == "f":
            made = np.where(np.isnan(self._host), np.iinfo("int64").min, made)
        return ndarray(made)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process by way of the host."""
        RECORDER.copied("host", "pickle", self._host.nbytes)
        return arrived, (self._host,)

    def get(self, stream: Any = None, order: Any = "C") -> np.ndarray:
        """Copy to the host; on the device first, where values do not lie in the order."""
        RECORDER.call(OWNER, "get", (stream, order))
        RECORDER.copied("host", "explicit", self._host.nbytes)
        if order == "C" and not self._host.flags.c_contiguous:
            ndarray(self._host.copy())
        return self._host.copy(order)

    def item(self, *args: Any) -> Any:
        RECORDER.call(OWNER, "item", args)
        return self._scalar()

    def tolist(self) -> Any:
        RECORDER.call(OWNER, "tolist", ())
        RECORDER.copied("host", "explicit", self._host.nbytes)
        return self._host.tolist()

    def _scalar(self) -> Any:
        RECORDER.copied("host", "scalar", self._host.itemsize)
        return self._host.item()

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Iterator[Any]:
        RECORDER.call(OWNER, "__iter__", ())
        if self._host.ndim < 2:
            raise Refused("iterating over a device array takes one kernel an element")
        return (ndarray(row) for row in self._host)

    def __getitem__(self, index: Any) -> Any:
        RECORDER.call(OWNER, "__getitem__", (index,))
        return wrap(self._host[_key(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        RECORDER.call(OWNER, "__setitem__", (index, value))
        self._host[_key(index)] = unwrap(value)


def key_order(vector: np.ndarray) -> np.ndarray:
    """Return the positions of a vector's values in the order of CUB's radix sort.

    Follows `TwiddleIn` of `cub/util_type.cuh`: a NaN whose sign is set comes first.
    """
    keys = vector
    if vector.dtype.kind == "f":
        bits = np.where(vector == 0, 0, vector.view(f"u{vector.itemsize}"))
        high = np.array(1, bits.dtype) << np.array(8 * vector.itemsize - 1, bits.dtype)
        keys = np.where(bits & high, ~bits, bits | high)
    return np.argsort(keys, kind="stable")


def argsort(array: np.ndarray, axis: int = -1, kind: Any = None) -> np.ndarray:
    stable = {"kind": "stable"}
    return key_order(array.copy()) if array.ndim == 1 else np.argsort(array, axis, **stable)


def sort(array: np.ndarray, axis: int = -1, kind: Any = None) -> np.ndarray:
    return np.take_along_axis(array, argsort(array, axis, kind), axis)


def unique(
    array: np.ndarray,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """Find distinct values as `cupy.unique` does, by sorting; it reads how many there are."""
    order = key_order(array.ravel())
    values = array.ravel()[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = values[1:] != values[:-1]
    if equal_nan and values.dtype.kind == "f":
        new[1:] &= ~np.isnan(values[:-1])
    inverse = np.empty(len(values), dtype=np.intp)
    inverse[order] = np.cumsum(new) - 1
    RECORDER.copied("host", "scalar", 4)
    parts = [(return_index, order[new]), (return_inverse, inverse.reshape(array.shape))]
    parts += [(return_counts, np.bincount(inverse, minlength=int(new.sum())))]
    more = [part for wanted, part in parts if wanted]
    return (values[new], *more) if more else values[new]


def bincount(x: np.ndarray, weights: Any = None, minlength: int | None = None) -> np.ndarray:
    """Count as `cupy.bincount` does, which reads whether there are negatives, and the greatest."""
    RECORDER.copied("host", "scalar", 1)
    if (x < 0).any():
        raise ValueError("The first argument of bincount must be non-negative")
    if x.size:
        RECORDER.copied("host", "scalar", x.itemsize)
    return np.bincount(x, weights, minlength or 0)


def add_at(array: ndarray, slices: Any, values: Any) -> None:
    """Add in place, at some positions repeatedly: `cupy.add.at`."""
    if array._host.dtype.name not in ADDED:
        raise TypeError(f"add.at only supports {', '.join(ADDED)}, as data type")
    np.add.at(array._host, _key(slices), unwrap(values))


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result has a length that CuPy has to read first."""

    def call(*args: Any, **kwargs: Any) -> Any:
        RECORDER.copied("host", "scalar", 4)
        return function(*args, **kwargs)

    return call


OWN: dict[str, Callable[..., Any]] = {
    "argsort": argsort,
    "bincount": bincount,
    "sort": sort,
    "unique": unique,
    **{name: counted(getattr(np, name)) for name in ("argwhere", "flatnonzero", "nonzero")},
}
"""Functions that CuPy computes otherwise than NumPy."""


def arrived(host: np.ndarray) -> ndarray:
    """Return an array that another process sent, on the device again."""
    RECORDER.copied("device", "pickle", host.nbytes)
    return ndarray(host)


def _recorded(owner: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return recorded(owner, name, function, wrap, unwrap)


def _read(kind: type) -> Callable[..., Any]:
    """Return a method that makes a number of Python's of an array of one."""

    def method(self: ndarray) -> Any:
        RECORDER.call(OWNER, f"__{kind.__name__}__", ())
        return kind(self._scalar())

    return method


for _name in OPERATORS.split():
    setattr(ndarray, f"__{_name}__", operator(f"__{_name}__"))
for _kind in (bool, int, float):
    setattr(ndarray, f"__{_kind.__name__}__", _read(_kind))


def _upload(name: str) -> Callable[..., Any]:
    def call(source: Any, *args: Any, **kwargs: Any) -> ndarray:
        RECORDER.call("cupy", name, (source, *args), kwargs)
        if isinstance(source, ndarray):
            return ndarray(getattr(np, name)(source._host, *args, **kwargs))
        host = np.array(source, *args, **kwargs)
        RECORDER.copied("device", "explicit", host.nbytes)
        return ndarray(host)

    return call


class _Stream:
    """Nothing runs in the background here, so there is nothing to wait for."""

    def synchronize(self) -> None:
        RECORDER.call("cupy.cuda.Stream", "synchronize", ())


class _Pool:
    """The memory that CuPy keeps; nothing is kept here, for cuDF has CuPy take RMM's."""

    def free_all_blocks(self) -> None:
        """Do nothing."""

    def free_bytes(self) -> int:
        return 0

    def malloc(self, size: int) -> None:
        """Stand for what CuPy takes memory from by itself."""


class Runtime:
    """What CUDA says of the device: the bytes that arrays hold while they are counted.

    A resource of RMM that has a pool keeps what was freed up to its `threshold`; CUDA's own pool
    keeps nothing by itself.
    """

    total = 2**34
    pool = 0xC0DA
    cudaMemPoolAttrReleaseThreshold = 4  # noqa: N815
    cudaMemPoolAttrReservedMemCurrent = 5  # noqa: N815
    cudaMemPoolAttrUsedMemCurrent = 7  # noqa: N815

    def __init__(self) -> None:
        self.threshold = self.trims = 0

    def _reserved(self) -> int:
        resource = load("rmm.mr").get_current_device_resource()
        return max(LIVE.nbytes, min(LIVE.kept, getattr(resource, "threshold", 0)))

    def memGetInfo(self) -> tuple[int, int]:  # noqa: N802
        return self.total - self._reserved(), self.total

    def getDevice(self) -> int:  # noqa: N802
        return 0

    def deviceSynchronize(self) -> None:  # noqa: N802
        """Do nothing: nothing runs in the background."""

    def deviceGetDefaultMemPool(self, device: int) -> int:  # noqa: N802
        return self.pool

    def memPoolSetAttribute(self, pool: int, attr: int, value: int) -> None:  # noqa: N802
        assert (pool, attr) == (self.pool, self.cudaMemPoolAttrReleaseThreshold)
        self.threshold = value

    def memPoolGetAttribute(self, pool: int, attr: int) -> int:  # noqa: N802
        assert pool == self.pool
        resource = load("rmm.mr").get_current_device_resource()
        if getattr(resource, "handle", None) != pool:
            return 0  # what arrays hold is not of this pool
        of = {self.cudaMemPoolAttrReservedMemCurrent: self._reserved()}
        return (of | {self.cudaMemPoolAttrUsedMemCurrent: LIVE.nbytes})[attr]

    def memPoolTrimTo(self, pool: int, size: int) -> None:  # noqa: N802
        assert (pool, size) == (self.pool, 0)
        LIVE.kept = LIVE.nbytes
        self.trims += 1


class _Cuda(ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.runtime, self.pool = Runtime(), _Pool()
        self.allocator: Any = self.pool.malloc

    def get_allocator(self) -> Any:
        return self.allocator

    def set_allocator(self, allocator: Any = None) -> None:
        self.allocator = allocator

    def get_current_stream(self) -> _Stream:
        RECORDER.call("cupy.cuda", "get_current_stream", ())
        return _Stream()


class Special(ModuleType):
    OWNER = "cupyx.scipy.special"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not frozen().has(self.OWNER, name):
            raise AttributeError(f"module {self.OWNER!r} has no attribute {name!r}")
        return _recorded(self.OWNER, name, getattr(special, name))


class Module(ModuleType):
    ndarray = ndarray

    def __init__(self) -> None:
        super().__init__("cupy")
        self.cuda = _Cuda("cupy.cuda")

    def get_default_memory_pool(self) -> _Pool:
        return self.cuda.pool

    def asnumpy(self, array: ndarray) -> np.ndarray:
        return array.get()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not frozen().has("cupy", name):
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        if name in UPLOADS:
            return _upload(name)
        member = OWN.get(name) or getattr(np, name)
        if isinstance(member, type) or not callable(member):
            RECORDER.call("cupy", name)
            return member
        made = _recorded("cupy", name, member)
        if name == "add":
            made.at = add_at
        return made
