"""Text as codes into a dictionary, by Arrow: no Python object a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def encoded(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of a series of text, -1 for missing, and its distinct values.

    Parameters
    ----------
    series : Series
        Of one of pandas' types for text.

    Returns
    -------
    codes : numpy.ndarray of int32, shape (n_rows,)
    values : numpy.ndarray of object, shape (n_values,)
        In the order in which they are met.

    Examples
    --------
    >>> codes, values = encoded(pd.Series(["b", None, "a", "b"], dtype="str"))
    >>> codes.tolist(), values.tolist()
    ([0, -1, 1, 0], ['b', 'a'])
    """
    array = pa.array(series)
    whole = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    chunks = whole.dictionary_encode().unify_dictionaries().chunks
    codes = [np.asarray(pc.fill_null(chunk.indices, -1)) for chunk in chunks]
    values: Any = chunks[0].dictionary.to_numpy(zero_copy_only=False) if chunks else []
    return _joined(codes), np.asarray(values, dtype=object)


def _joined(codes: list[np.ndarray]) -> np.ndarray:
    if len(codes) == 1:
        return codes[0]
    return np.concatenate(codes) if codes else np.empty(0, dtype="int32")
