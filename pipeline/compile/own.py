"""Which parts of a program scikit-learn's own steps run, although there are twins.

Some are faster than the twins on numbers that scikit-learn reads directly: `Twin.slower` says for
how many values. And if the next step distinguishes zeros from absent values, as XGBoost does, the
numbers beside sparse rows must be scikit-learn's to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pipeline.blocks.block import Numbers
from pipeline.compile.rules import columns_read
from pipeline.compile.spec import Op
from pipeline.twins import TWINS

FASTER = "scikit-learn's own step, which is faster for a table of this size"
EXACT = "scikit-learn's own step: the next one distinguishes 0 from 1e-19 in sparse rows"


def choose_own(op: Op, *, exact_zeros: bool) -> dict[str, str]:
    """Return the paths of the parts that scikit-learn's own steps run, and why.

    >>> from sklearn.preprocessing import StandardScaler
    >>> from pipeline.compile.rules import compile_transformer
    >>> from pipeline.compile.spec import spec_of
    >>> rows = spec_of(np.zeros((100_000, 2), order="F"))
    >>> list(choose_own(compile_transformer(StandardScaler(), "scaler", rows), exact_zeros=False))
    ['scaler']
    """
    size, order = (op.takes.n_rows or 0) * len(op.takes.names or ()), op.takes.order
    for leaf in op.leaves:
        twin = TWINS.get(type(leaf.estimator))
        if twin is not None and size not in twin.slower_at(leaf.estimator).get(order, ()):
            break
    else:
        if _may_run(op):
            return {op.path: FASTER}
    return dict.fromkeys(_beside_sparse(op), EXACT) if exact_zeros else {}


def _may_run(op: Op) -> bool:
    """Return whether scikit-learn's own can stand for the twins: on numbers, and nothing else."""
    twinned = [leaf.estimator for leaf in op.leaves if type(leaf.estimator) in TWINS]
    if not twinned or op.takes.names is None or any(each.reasons for each in op.tree):
        return False
    names = columns_read(op)
    dtypes = op.takes.dtypes if names is None else op.takes.taken(names).dtypes
    return (
        all(map(_makes_numbers, twinned))
        and not any(_is_watched(each.estimator) for each in op.tree)
        and all(map(_is_plain, dtypes))
    )


def _makes_numbers(leaf: Any) -> bool:
    """Return whether a transformer makes a matrix of numbers, and leaves its input as it is."""
    twin = TWINS[type(leaf)]
    return twin.reads is Numbers and getattr(leaf, "copy", True) and not twin.makes_sparse(leaf)


def _is_watched(part: Any) -> bool:
    """Return whether a container prints what it does, or keeps it, which twins do."""
    return bool(getattr(part, "verbose", False)) or getattr(part, "memory", None) is not None


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and (dtype.kind in "iu" or dtype in ("float32", "float64"))


def _beside_sparse(op: Op) -> list[str]:
    """Return the paths of the branches of numbers beside those that may make sparse rows."""
    if op.runner != "container":
        return []
    if type(op.estimator) is Pipeline:
        return _beside_sparse(op.active[0]) if op.active else []
    makers = [leaf.estimator for leaf in op.leaves if leaf.runner not in ("passthrough", "drop")]
    if not any(type(m) not in TWINS or TWINS[type(m)].makes_sparse(m) for m in makers):
        return []
    found = []
    for child in op.children:
        if child.runner != "drop" and child.columns != ():
            found += [child.path] if _may_run(child) else _beside_sparse(child)
    return found
