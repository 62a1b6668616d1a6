from __future__ import annotations

import pytest

from datasets.synthetic import Recipe


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": "bin"}, "kind: 'bin' is not one of binary"),
        ({"rows": 99}, "rows: 99 is not a whole number from 100"),
        ({"rows": 1e6}, "rows: 1000000.0 is not a whole number"),
        ({"columns": 0}, "columns: 0"),
        ({"seed": -1}, "seed: -1"),
        ({"seed": 2**64}, "seed: "),
        ({"cardinality": 1}, "cardinality: 1"),
        ({"columns": True}, "columns: True"),
    ],
)
def test_what_is_out_of_range_is_named(given, told) -> None:
    with pytest.raises(ValueError, match=told):
        Recipe(**given)


@pytest.mark.parametrize("partitions", [1, 7, 64, None])
def test_cuts_cover_the_rows_once_in_order(partitions) -> None:
    cuts = Recipe(rows=3_000_050).cuts(partitions)
    assert (cuts[0], cuts[-1]) == (0, 3_000_050)
    assert all(low < high for low, high in zip(cuts, cuts[1:], strict=False))
    assert len(cuts) - 1 == (partitions or 4)


@pytest.mark.parametrize("partitions", [0, 11])
def test_more_partitions_than_the_rows_fill_are_refused(partitions) -> None:
    with pytest.raises(ValueError, match="partitions: .* from 1 to 10"):
        Recipe(rows=1_000).cuts(partitions)
