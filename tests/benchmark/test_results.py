from __future__ import annotations

import json
from collections.abc import Callable
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


def example() -> dict[str, Any]:
    """Return a record in which every kind of object occurs."""
    found: dict[str, Any] = json.loads(results.dumps(fuller.everything()))
    return found


def load(tmp_path: Path, data: Any) -> results.Results:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(data))
    return results.load(path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_written_is_read_back_equal(tmp_path: Path, name: str) -> None:
    record = EXAMPLES[name]()
    path = tmp_path / "results.json"
    path.write_bytes(results.dumps(record))
    assert results.load(path) == record
    assert results.dumps(results.load(path)) == path.read_bytes()


def test_no_object_takes_a_field_that_is_unknown() -> None:
    everything = [*vars(results).values(), *vars(records).values()]
    kinds = [kind for kind in everything if isinstance(kind, msgspec.StructMeta)]
    assert len(kinds) > 15
    assert [kind for kind in kinds if not kind.__struct_config__.forbid_unknown_fields] == []


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an unknown field": (lambda data: data["cells"][1].update(remark="faster"), "remark"),
    "another type": (lambda data: data["cells"][0]["runs"][0].update(total="1"), "total"),
    "a field is missing": (lambda data: data["cells"][0].pop("runs"), "missing.*`runs`"),
    "another schema": (lambda data: data.update(schema="pipeline.run/2"), "schema"),
    "cells as text": (lambda data: data.update(cells="text"), "cells"),
    "cells of text": (lambda data: data.update(cells=["text"]), "cells"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_has_not_the_schema_is_refused(tmp_path: Path, case: str) -> None:
    change, words = WRONG[case]
    change(data := example())
    with pytest.raises(DataError, match=rf"results\.json: not a pipeline\.results/2.*{words}"):
        load(tmp_path, data)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_does_not_pass_as_one(tmp_path: Path, value: float) -> None:
    record = fixtures.normal()
    cell = replace(record.cells[0], metrics={"roc_auc": value})
    (tmp_path / "results.json").write_bytes(results.dumps(replace(record, cells=[cell])))
    with pytest.raises(DataError, match="metrics"):
        results.load(tmp_path / "results.json")


@pytest.mark.parametrize("text", ["", "[]", "null", "\udcff", "not JSON"])
def test_what_is_no_record_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=r"results\.json: not a pipeline\.results/2 file"):
        results.load(path)
