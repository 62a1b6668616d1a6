from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from pipeline import records
from pipeline.benchmark.record import results
from pipeline.errors import DataError
from tests.benchmark import fixtures, fuller

EXAMPLES = {
    "with a GPU": fixtures.with_gpu,
    "with a failure": fixtures.failed,
    "with odd text": fixtures.hostile,
    "with everything": fuller.everything,
}
FREE = {"margins", "baseline", "packages", "threads", "stages", "metrics", "noise", "quantiles"}
FREE |= {"not_measured", "signs", "best"}
"""Objects whose keys are names, not fields."""


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every object with fields; one path where a list repeats."""
    if isinstance(value, dict):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for key, inner in items:
        if key in ("differences", "energy"):
            yield from (((*path, key, name)) for name in list(inner)[:1])
        elif isinstance(inner, dict | list) and key not in FREE:
            yield from objects(inner, (*path, key))


def example() -> dict[str, Any]:
    """Return a record in which every kind of object occurs."""
    data = json.loads(results.dumps(fuller.everything()))
    # The reference has no agreement and no moves, so that another cell comes first.
    data["cells"].sort(key=lambda cell: cell["variant"] == "reference")
    return data


def at(data: Any, path: tuple[Any, ...]) -> dict[str, Any]:
    for key in path:
        data = data[key]
    return data


PATHS = list(objects(example()))


def named(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path)) or "results"


def load(tmp_path: Path, data: Any) -> results.Results:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(data))
    return results.load(path)


def test_every_kind_of_object_is_tested() -> None:
    everything = [*vars(results).values(), *vars(records).values()]
    kinds = {kind for kind in everything if isinstance(kind, msgspec.StructMeta)}
    assert {frozenset(at(example(), path)) for path in PATHS} == {
        frozenset(kind.__struct_fields__) for kind in kinds
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_written_is_read_back_equal(tmp_path: Path, name: str) -> None:
    record = EXAMPLES[name]()
    path = tmp_path / "results.json"
    path.write_bytes(results.dumps(record))
    assert results.load(path) == record
    assert results.dumps(results.load(path)) == path.read_bytes()


@pytest.mark.parametrize("path", PATHS, ids=named)
def test_an_unknown_field_and_another_type_are_refused_anywhere(
    tmp_path: Path, path: tuple[Any, ...]
) -> None:
    data = example()
    at(data, path)["remark"] = "faster"
    with pytest.raises(DataError, match=r"results\.json: not a pipeline\.results/2.*remark"):
        load(tmp_path, data)
    for field, value in at(example(), path).items():
        data = example()
        at(data, path)[field] = 1 if isinstance(value, str) else "text"
        with pytest.raises(DataError, match=field):
            load(tmp_path, data)


@pytest.mark.parametrize(
    ("path", "field"), [((), "cells"), (("cells", 0), "runs"), (("cells", 0, "runs", 0), "total")]
)
def test_a_missing_field_is_refused(tmp_path: Path, path: tuple[Any, ...], field: str) -> None:
    data = example()
    del at(data, path)[field]
    with pytest.raises(DataError, match=f"missing required field `{field}`"):
        load(tmp_path, data)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_does_not_pass_as_one(tmp_path: Path, value: float) -> None:
    record = fixtures.normal()
    cell = replace(record.cells[0], metrics={"roc_auc": value})
    (tmp_path / "results.json").write_bytes(results.dumps(replace(record, cells=[cell])))
    with pytest.raises(DataError, match="metrics"):
        results.load(tmp_path / "results.json")


@pytest.mark.parametrize("text", ["", "[]", "null", "\udcff", '{"schema": "pipeline.run/2"}'])
def test_what_is_no_record_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=r"results\.json: not a pipeline\.results/2 file"):
        results.load(path)


def test_what_older_records_hold_and_no_report_shows_is_left_out(tmp_path: Path) -> None:
    data = example() | {"history": [{}], "profiles": [{}], "other_prices": [{}]}
    data["price"] |= {"machine": "m", "date": "2026-01-31", "source": "a bill", "vcpus": 8.0}
    for cell in data["cells"]:
        cell |= {"trace": {"seconds": [0.0]}, "stopped_after": 9.0}
        cell["diagnostics"] |= {"thresholds": [{}], "confused": [{}], "residuals": [{}]}
    assert load(tmp_path, data) == load(tmp_path, example())
