"""Data that scikit-learn brings along: taken through its loaders, held to a checksum."""

from __future__ import annotations

import hashlib
from typing import Any

from datasets.errors import DataError


def load(loader: str, sha256: str) -> Any:
    """Return what a loader of :mod:`sklearn.datasets` gives, if it is the pinned data.

    Parameters
    ----------
    loader : str
        Name of the function, ``"load_digits"``.
    sha256 : str
        Of the features as float64, row by row, followed by the target as int64.

    Raises
    ------
    DataError
        If the installed scikit-learn brings other numbers.
    """
    import numpy as np
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, loader)()
    parts = np.asarray(bunch.data, "<f8"), np.asarray(bunch.target, "<i8")
    actual = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    if actual != sha256:
        raise DataError(
            f"{loader} of scikit-learn {sklearn.__version__} gives other numbers than this "
            "dataset is made from (SHA-256 differs); run `make setup`"
        )
    return bunch
