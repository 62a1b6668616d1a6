from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pipeline.backends import parity, x86
from pipeline.errors import DataError
from tools.calibrate.twins import PAIRS, public_name


def test_every_twin_was_measured_and_nothing_else() -> None:
    assert {each.estimator for each in parity.load().found} == set(x86.TWINS)
    assert sorted(public_name(pair.pipeline) for pair in PAIRS) == sorted(x86.TWINS)


def test_the_worst_table_counts() -> None:
    known = parity.load()
    name = "sklearn.linear_model.Ridge"
    mine = [each for each in known.found if each.estimator == name]
    worse = msgspec.structs.replace(mine[0], difference=0.7)
    found = msgspec.structs.replace(known, found=[worse, *mine[1:]])
    assert found.difference(name) == 0.7
    assert found.difference("sklearn.linear_model.Lasso") is None


@pytest.mark.parametrize(("twin", "faster"), [(0.8, True), (0.95, False), (1.5, False)])
def test_to_be_faster_is_to_be_clearly_faster(twin: float, *, faster: bool) -> None:
    known = parity.load()
    name = "sklearn.linear_model.Ridge"
    each = msgspec.structs.replace(known.found[0], estimator=name, stock=1.0, twin=twin)
    assert msgspec.structs.replace(known, found=[each]).faster(name) is faster


def test_a_broken_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "intelex.json"
    with pytest.raises(DataError, match="make calibrate"):
        parity.load(path)
    path.write_bytes(parity.PATH.read_bytes().replace(b'"difference"', b'"distance"'))
    with pytest.raises(DataError, match=r"pipeline\.intelex/1"):
        parity.load(path)
