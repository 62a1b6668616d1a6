"""A stand-in for CuPy's sparse rows: SciPy inside, CuPy's manners outside.

Stricter than CuPy in two ways: indices that lie outside are an error, where CuPy would compute
anything; and rows are made dense only inside an event of the log that tells it.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from pipeline import trace
from tests.contract import arrays
from tests.contract.recorder import LIVE, RECORDER, OnDevice, Refused

FLOATS = (np.float32, np.float64)
PARTS = ("data", "indices", "indptr")
CELLS = ("row", "col", "data")


class csr_matrix(OnDevice):  # noqa: N801
    __module__ = "cupyx.scipy.sparse._csr"
    OWNER = "cupyx.scipy.sparse.csr_matrix"
    format = "csr"

    def __init__(self, arg1: Any, shape: tuple[int, int] | None = None) -> None:
        RECORDER.call(self.OWNER, "__init__", (arg1, shape))
        host = _of_parts(*arg1, shape) if isinstance(arg1, tuple) else _uploaded(arg1)
        if host.dtype not in (bool, *FLOATS):
            # cupyx.scipy.sparse._compressed._compressed_sparse_matrix.__init__
            raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
        self._host = host
        for part in PARTS:
            LIVE.hold(getattr(host, part))

    @classmethod
    def made(cls, host: Any) -> csr_matrix:
        """Return rows that were computed on the device."""
        with RECORDER.paused():
            return cls(host)

    def __getattr__(self, name: str) -> Any:
        # Not recorded: the real ones are set by __init__, so that the class does not show them.
        if name in ("shape", "dtype", "nnz"):
            return getattr(self._host, name)
        if name not in PARTS:
            raise AttributeError(f"csr_matrix has no attribute {name!r}")
        return arrays.ndarray(getattr(self._host, name))

    def get(self, stream: Any = None) -> sparse.csr_matrix:
        RECORDER.call(self.OWNER, "get", (stream,))
        RECORDER.copied("host", "explicit", _nbytes(self._host))
        return self._host.copy()

    @property
    def has_canonical_format(self) -> bool:
        """Return whether no cell is there twice, for which CuPy waits."""
        RECORDER.copied("host", "scalar", 1)
        return self._host.has_canonical_format

    def tocoo(self, copy: bool = False) -> SimpleNamespace:
        """Return the cells one by one: what else a matrix of them has is not needed here."""
        RECORDER.call(self.OWNER, "tocoo", (copy,))
        cells = self._host.tocoo()
        return SimpleNamespace(**{part: arrays.ndarray(getattr(cells, part)) for part in CELLS})

    def tocsr(self, copy: bool = False) -> csr_matrix:
        RECORDER.call(self.OWNER, "tocsr", (copy,))
        return csr_matrix.made(self._host.copy()) if copy else self

    def astype(self, dtype: Any, copy: bool = True) -> csr_matrix:
        RECORDER.call(self.OWNER, "astype", (dtype, copy))
        return csr_matrix.made(self._host.astype(dtype, copy=copy))

    def __mul__(self, other: Any) -> csr_matrix:
        RECORDER.call(self.OWNER, "__mul__", (other,))
        if not np.isscalar(other):
            raise Refused("the stand-in multiplies sparse rows by numbers alone")
        return csr_matrix.made(self._host * other)

    def __getitem__(self, key: Any) -> csr_matrix:
        """Return rows that follow one another: the places of the first and last cell are read.

        Of rows by their positions on the device, the number of their cells is read.
        """
        RECORDER.call(self.OWNER, "__getitem__", (key,))
        if isinstance(key, arrays.ndarray) and key.dtype.kind == "i":
            RECORDER.copied("host", "scalar", self._host.indptr.itemsize)
            return csr_matrix.made(self._host[key._host])
        if isinstance(key, tuple) and key[0] == slice(None) and len(np.shape(key[1])) == 1:
            return csr_matrix.made(self._host[:, key[1]])
        if not isinstance(key, slice) or key.step not in (None, 1):
            raise Refused(f"the stand-in takes no {key} of sparse rows")
        for _ in range(2):
            RECORDER.copied("host", "scalar", self._host.indptr.itemsize)
        return csr_matrix.made(self._host[key])

    def sort_indices(self) -> None:
        RECORDER.call(self.OWNER, "sort_indices", ())
        self._host.sort_indices()

    def toarray(self, order: str | None = None, out: Any = None) -> arrays.ndarray:
        RECORDER.call(self.OWNER, "toarray", (order, out))
        entry = trace._entry.get()
        if entry is None or entry.call != trace.DENSIFY:
            raise Refused(f"rows of {self.shape} are made dense, and no event of the log tells it")
        return arrays.ndarray(self._host.toarray(order))


def _of_parts(data: Any, indices: Any, indptr: Any, shape: Any) -> sparse.csr_matrix:
    """Return rows of three arrays on the device; CuPy reads how many cells there are.

    Follows `cupyx.scipy.sparse._compressed._compressed_sparse_matrix.__init__`.
    """
    if not all(isinstance(each, arrays.ndarray) for each in (data, indices, indptr)):
        raise ValueError("data, indices, and indptr must be 1-D cupy arrays")
    data, indices, indptr = data._host, indices._host, indptr._host
    if {indices.dtype, indptr.dtype} != {np.dtype("int32")}:
        raise Refused(f"CuPy would look through indices of {indices.dtype} and {indptr.dtype}")
    if len(data) != len(indices):
        raise ValueError("indices and data should have the same size")
    RECORDER.copied("host", "scalar", 2 * indptr.itemsize)
    if indptr[-1] > len(data):
        raise ValueError(f"last index pointer ({indptr[-1]}) exceeds the size of data/indices")
    known = slice(0, int(indptr[-1]))
    host = sparse.csr_matrix((data[known], indices[known], indptr), shape=shape)
    host.check_format()
    return host


def _uploaded(source: Any) -> sparse.csr_matrix:
    if isinstance(source, arrays.ndarray | csr_matrix):
        return sparse.csr_matrix(source._host)
    if not sparse.issparse(source):
        raise Refused(f"the stand-in makes no sparse rows of a {type(source).__name__}")
    host = sparse.csr_matrix(source)
    RECORDER.copied("device", "explicit", _nbytes(host))
    return host


def _nbytes(host: sparse.csr_matrix) -> int:
    return sum(getattr(host, part).nbytes for part in PARTS)


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> csr_matrix:
    RECORDER.call("cupyx.scipy.sparse", "hstack", (blocks, format, dtype))
    if not all(isinstance(block, csr_matrix) for block in blocks):
        raise Refused("the stand-in puts sparse rows side by side alone")
    return csr_matrix.made(sparse.hstack([block._host for block in blocks], format, dtype))


def modules() -> dict[str, ModuleType]:
    made = ModuleType("cupyx.scipy.sparse")
    made.csr_matrix, made.hstack = csr_matrix, hstack
    return {"cupyx.scipy.sparse": made}
