from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pipeline import records
from pipeline.errors import DataError
from tools.bench import wrapper

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrapper, "SINGLE", 5)
        yield


@pytest.fixture(scope="module")
def found(_few: None) -> wrapper.Results:
    return wrapper.measure(rows=300, repeats=5, seed=1, say=lambda line: None)


def cell(pipeline: str, way: str, seconds: float, one: float) -> wrapper.Times:
    runs = [seconds] * 5
    return wrapper.Times(pipeline=pipeline, way=way, fit=runs, predict=runs, predict_one=[one] * 5)


def test_every_run_of_each_is_kept(found: wrapper.Results) -> None:
    assert [(each.pipeline, each.way) for each in found.cells] == [
        (pipeline, way) for pipeline in wrapper.SPECS for way in wrapper.WAYS
    ]
    for each in found.cells:
        for phase in ("fit", "predict", "predict_one"):
            times = found.times(each.pipeline, each.way, phase)
            assert times.shape == (5,)
            assert (times > 0).all()


def test_both_ways_predict_alike() -> None:
    X, y = wrapper.table(500, seed=0)
    for pipeline in wrapper.SPECS.values():
        bare, wrapped = (make(pipeline).fit(X, y).predict(X) for make in wrapper.WAYS.values())
        np.testing.assert_array_equal(bare, wrapped)
        assert (bare == y).mean() > 0.7


def test_a_target_is_met_or_not(found: wrapper.Results) -> None:
    first, second = wrapper.SPECS
    cells = [
        cell(first, "bare", 1.0, 1e-4),
        cell(first, "wrapped", 1.019, 1.09e-3),
        cell(second, "bare", 1.0, 1e-4),
        cell(second, "wrapped", 1.03, 1.2e-3),
    ]
    lines = wrapper.part(msgspec.structs.replace(found, cells=cells)).splitlines()[2:8]
    assert [line.split("|")[-2].strip() for line in lines] == [
        "yes",
        "yes",
        "no",
        "no",
        "yes",
        "no",
    ]
    assert "× 1.019" in lines[0]
    assert "+0.990 ms" in lines[4]


def test_the_record_is_published_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "wrapper"
    arguments = ["--rows", "200", "--repeats", "1", "--out", str(folder)]
    monkeypatch.setattr(sys, "argv", ["wrapper", *arguments])
    assert wrapper.main() == 0
    found = wrapper.load(folder / "results.json")
    assert (found.rows, len(found.cells)) == (200, 4)
    assert wrapper.part(found) in capsys.readouterr().out


def test_an_unknown_field_is_refused(tmp_path: Path, found: wrapper.Results) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(json.loads(records.dumps(found)) | {"verdict": "fast"}))
    with pytest.raises(DataError, match="verdict"):
        wrapper.load(path)
