"""The manners of the stand-ins: what they copy, refuse and take for missing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pipeline.table import frames
from pipeline.table.partitioned import densify
from pipeline.trace import execution_log, record
from tests.contract.recorder import LIVE, RECORDER, Recorder, Refused

pytestmark = pytest.mark.usefixtures("recorder")


def array(*values: Any, dtype: Any = None) -> Any:
    return sys.modules["cupy"].asarray(np.array(values, dtype))


@pytest.mark.parametrize(
    ("read", "waits"),
    [
        (lambda xp: array(1.0, 2.0).get(), 1),
        (lambda xp: bool(array(1.0).sum() == 0), 1),
        (lambda xp: xp.bincount(array(2, 0, 2), minlength=4), 2),
        (lambda xp: array(2.0, 0.0)[array(True, False)], 1),
        (lambda xp: array(2.0, 0.0).nonzero(), 1),
        (lambda xp: xp.unique(array(2.0, 0.0, 2.0)), 1),
        (lambda xp: xp.stack([array(1.0), array(2.0)]).sum(axis=0) * 2, 0),
    ],
)
def test_the_host_waits_for_what_only_the_device_knows(
    read: Any, waits: int, recorder: Recorder
) -> None:
    read(sys.modules["cupy"])
    assert recorder.syncs() == waits


def test_what_is_alive_is_counted_and_views_take_nothing() -> None:
    with RECORDER.paused(), LIVE.counted() as live:
        X = frames.to_device(np.zeros((100, 2)), "cuda")
        half = X[:50]
        assert live.nbytes == 1600
        half[...] = 7.0
        assert X.get()[0].tolist() == [7.0, 7.0]
        (X + 1).sum()
        assert (live.nbytes, live.peak) == (1600, 3208)
        del X, half
        assert live.nbytes == 0


def test_cuml_takes_no_matrix_from_the_host() -> None:
    twin = sys.modules["cuml.linear_model"].LogisticRegression
    model = twin(**twin._params_from_cpu(LogisticRegression()))
    with pytest.raises(Refused):
        model.fit(np.zeros((4, 1)), np.array([0, 1, 0, 1]))


def sparse_rows(cells: Any, indices: Any, indptr: Any, kinds: Any = ("float64", "int32")) -> Any:
    parts = array(*cells, dtype=kinds[0]), array(*indices, dtype=kinds[1])
    make = sys.modules["cupyx.scipy.sparse"].csr_matrix
    return make((*parts, array(*indptr, dtype=kinds[1])), shape=(len(indptr) - 1, 3))


def test_sparse_rows_are_made_dense_only_where_the_log_tells_it() -> None:
    made = sparse_rows([2, 1, 3], [1, 0, 2], [0, 1, 3])
    with record("forest", "fit", "cuda"), pytest.raises(Refused, match="no event of the log"):
        made.toarray()
    with execution_log() as book:
        dense = densify(made, "forest", "it is a forest")
    np.testing.assert_array_equal(dense.get(), [[0, 2, 0], [1, 0, 3]])
    assert [(e.step, e.call, e.device) for e in book.entries] == [("forest", "densify", "cuda")]
