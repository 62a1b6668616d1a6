"""Which parts of a program scikit-learn's own steps run, although there are twins.

Some are faster than the twins on numbers that scikit-learn reads as they are: `Twin.slower` says
of how many rows. And where what follows tells zeros from absent cells, as XGBoost does, the
numbers beside sparse rows have to be scikit-learn's to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from pipeline.data import frames
from pipeline.preprocessing.engine.blocks import Numbers, by_columns
from pipeline.preprocessing.engine.table import Table
from pipeline.preprocessing.engine.tree import (
    CONTAINERS,
    Inside,
    columns_read,
    held,
    join_path,
    leaves,
    left_out,
    twinned,
    walk,
)
from pipeline.preprocessing.engine.unsupported import WORDS, reasons
from pipeline.preprocessing.transformers import TWINS
from pipeline.typing import Estimator

FASTER = "scikit-learn's own, which is faster on so many rows of numbers"
EXACT = "scikit-learn's own, for the next step tells 0 from 1e-19 in sparse rows"


def choose_own(
    whole: Inside, table: Table, head: pd.DataFrame, *, exact_zeros: bool
) -> dict[str, str]:
    """Return the paths of the parts that scikit-learn's own steps run, and why.

    >>> from sklearn.preprocessing import StandardScaler
    >>> table = Table(np.zeros((100_000, 2), order="F"))
    >>> scaler = Inside("scaler", StandardScaler(), True)
    >>> list(choose_own(scaler, table, frames.head(table.X), exact_zeros=False))
    ['scaler']
    """
    order = "F" if frames.is_frame(table.X) or by_columns(table.X) else "C"
    faster = all(
        table.n_rows in TWINS[type(leaf)].slower_at(leaf).get(order, ())
        for _, leaf in twinned(*whole[1::-1])
    )
    if faster and _may_run(whole, head):
        return {whole.path: FASTER}
    return dict.fromkeys(_beside_sparse(whole, head), EXACT) if exact_zeros else {}


def _may_run(whole: Inside, head: pd.DataFrame) -> bool:
    """Return whether scikit-learn's own can stand for the twins: on numbers, and nothing else."""
    found = [leaf for _, leaf in twinned(*whole[1::-1])]
    names = columns_read(whole.estimator, head)
    return (
        bool(found)
        and all(map(_makes_numbers, found))
        and not any(_is_watched(part.estimator) for part in walk(*whole[1::-1]))
        and all(map(_is_plain, (head if names is None else head[names]).dtypes))
        and not reasons(*whole[1::-1])
    )


def _makes_numbers(leaf: Estimator) -> bool:
    """Return whether a transformer makes a matrix of numbers, and leaves its input as it is."""
    twin = TWINS[type(leaf)]
    return (
        twin.reads is Numbers
        and getattr(leaf, "copy", True)
        and not twin(leaf).makes_sparse(given=False)
    )


def _is_watched(part: Any) -> bool:
    """Return whether a container prints what it does, or keeps it, which is ours to do."""
    return bool(getattr(part, "verbose", False)) or getattr(part, "memory", None) is not None


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and (dtype.kind in "iu" or dtype in ("float32", "float64"))


def _beside_sparse(whole: Inside, head: pd.DataFrame) -> list[str]:
    """Return the paths of the branches of numbers beside those that may make sparse rows."""
    path, estimator, _ = whole
    if type(estimator) is Pipeline:
        held_steps = [Inside(join_path(path, name), how, True) for name, how in estimator.steps]
        active = [step for step in held_steps if not left_out(step.estimator)]
        return _beside_sparse(active[0], head) if active else []
    if type(estimator) not in CONTAINERS or not _may_be_sparse(estimator):
        return []
    found = []
    for name, how, names in held(whole, head, series=True):
        part = Inside(join_path(path, name), how, True)
        given = head if names is None else head[names]
        if len(given.columns) and how != "drop":
            found += [part.path] if _may_run(part, given) else _beside_sparse(part, given)
    return found


def _may_be_sparse(estimator: Estimator) -> bool:
    """Return whether some transformer makes sparse rows, as those without a twin may."""
    return any(
        type(leaf) not in TWINS or TWINS[type(leaf)](leaf).makes_sparse(given=False)
        for _, leaf in leaves(estimator, "")
        if leaf not in WORDS
    )
