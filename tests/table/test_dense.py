from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pipeline.errors import Unsupported
from pipeline.table import partitioned
from pipeline.table.partitioned import densify
from pipeline.trace import DENSIFY, execution_log

ROWS = csr_matrix([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])


def test_rows_are_made_dense_and_the_log_tells_it() -> None:
    with execution_log() as book:
        np.testing.assert_array_equal(densify(ROWS, "forest", "it is a forest"), ROWS.toarray())
    (entry,) = book.entries
    assert (entry.step, entry.call, entry.device) == ("forest", DENSIFY, "cpu")
    assert str(entry).endswith("it is a forest: 48 bytes")


@pytest.mark.parametrize(("free", "fits"), [(96, True), (95, False)])
def test_what_does_not_fit_is_refused_with_both_sizes(
    free: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: free)
    if fits:
        densify(ROWS, "forest", "it is a forest")
        return
    with (
        execution_log() as book,
        pytest.raises(Unsupported, match="take 48 bytes.* 95 bytes are free"),
    ):
        densify(ROWS, "forest", "it is a forest")
    assert book.entries == []
