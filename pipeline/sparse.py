"""Sparse rows, SciPy's on the host and CuPy's on a GPU, between the two."""

from __future__ import annotations

from typing import Any

from pipeline import residency
from pipeline.optional import load


def nbytes(X: Any) -> int:
    """Return the bytes of a matrix of compressed rows.

    >>> from scipy.sparse import csr_matrix
    >>> nbytes(csr_matrix([[0.0, 2.0]]))
    20
    """
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def to_host(X: Any) -> Any:
    """Return a CuPy matrix as SciPy's, booking the copy."""
    residency.moved(to_host=nbytes(X))
    return X.get()


def to_gpu(X: Any) -> Any:
    """Return a SciPy matrix as compressed rows of CuPy, booking the copy.

    Counts become float64, the type that scikit-learn computes with: CuPy has no sparse integers.
    """
    X = X.tocsr()
    X = X.astype("float64") if X.dtype.kind in "iu" else X
    residency.moved(to_device=nbytes(X))
    return load("cupyx.scipy.sparse.csr_matrix")(X)
