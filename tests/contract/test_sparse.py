from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as scipy_sparse

from pipeline.data import frames
from pipeline.data.frames import csr_nbytes, csr_to_gpu
from pipeline.trace import execution_log, record
from tests.contract.recorder import Recorder
from tests.contract.verify import faults

ROWS = scipy_sparse.csr_matrix([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])


def test_rows_go_to_the_gpu_and_back(device: Recorder) -> None:
    with execution_log() as book, record("step", "copy", "cuda"):
        there = frames.to_device(ROWS, "cuda")
        back = frames.to_device(there, "cpu")
    assert (frames.device_of(there), frames.device_of(back)) == ("cuda", "cpu")
    assert frames.to_device(there, "cuda") is there
    assert frames.is_sparse(there)
    np.testing.assert_array_equal(back.toarray(), ROWS.toarray())
    (entry,) = book.entries
    assert entry.to_device_bytes == entry.to_host_bytes == csr_nbytes(ROWS)
    assert entry.to_host_bytes == device.nbytes("host", "explicit")
    assert faults(device.calls) == []


@pytest.mark.parametrize("kind", ["csc_matrix", "coo_matrix", "csr_array"])
def test_other_layouts_become_rows(kind: str, device: Recorder) -> None:
    there = csr_to_gpu(getattr(scipy_sparse, kind)(ROWS))
    np.testing.assert_array_equal(there.get().toarray(), ROWS.toarray())


def test_counts_become_floats(device: Recorder) -> None:
    assert csr_to_gpu(ROWS.astype("int64")).dtype == "float64"
    assert csr_to_gpu(ROWS.astype("float32")).dtype == "float32"
