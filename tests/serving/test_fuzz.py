"""Whatever bytes the loaders are given, they refuse them with an error of ours, or read them.

The corpus is the models that are kept as files; the number of examples is bounded. Changed boosters
have tests of their own, where the structure of boosters is checked.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import skops.io._protocol
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import ConfigError, DataError, PipelineError
from pipeline.serving import allowlist, load, manifest
from tests.serving.test_formats import FOLDERS
from tests.serving.test_load import members, zipped

MANY = settings(
    max_examples=4 * settings().max_examples,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
CORPUS = [manifest.read_manifest(folder)[1] for folder in FOLDERS]
STATES = [files["state.json"] for files in CORPUS]
OBJECTS = [files["model.skops"] for files in CORPUS]
MANIFESTS = [(folder / manifest.MANIFEST).read_bytes() for folder in FOLDERS]


@st.composite
def mutated(draw: Any, seeds: list[bytes]) -> bytes:
    """Return a seed in which some bytes were changed, lost or doubled."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        how = draw(st.sampled_from(["flip", "cut", "double", "digit"]))
        if how == "flip" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del data[place : place + draw(st.integers(1, 50))]
        elif how == "double":
            data[place:place] = data[place : place + draw(st.integers(1, 50))]
        elif data:
            data[place] = draw(st.sampled_from(list(b'09-"{}[],:')))
    return bytes(data)


@MANY
@given(mutated(MANIFESTS))
def test_manifests_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(DataError):
        manifest._manifest(data, Path("model"))


@MANY
@given(st.one_of(st.binary(max_size=300), mutated([b"ab" * 32 + b"  model.manifest.json\n"])))
def test_lists_of_sums_are_read_or_refused(data: bytes) -> None:
    try:
        sums = manifest._sums(data, Path("model"))
    except DataError:
        return
    assert all("/" not in name and name not in (".", "..") for name in sums)


def unpacked(files: dict[str, bytes]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(PipelineError):
            load.unpack(files, "cpu")


@MANY
@given(st.integers(0, len(CORPUS) - 1), st.data())
def test_states_are_models_or_refused(number: int, data: Any) -> None:
    files = CORPUS[number]
    if any(name.endswith(".ubj") for name in files):
        return
    unpacked({**files, "state.json": data.draw(mutated([files["state.json"]]))})


@MANY
@given(mutated(OBJECTS))
def test_files_of_objects_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(DataError, ConfigError):
        allowlist.loads(data, "model.skops")


# Without trees: scikit-learn's native code trusts the indices in their nodes.
SCHEMAS = [
    members(files["model.skops"]) for files in CORPUS if b"_tree" not in files["model.skops"]
]


@MANY
@given(st.integers(0, len(SCHEMAS) - 1), st.data())
def test_schemas_of_objects_are_read_or_refused(number: int, data: Any) -> None:
    parts = SCHEMAS[number]
    schema = data.draw(mutated([parts["schema.json"]]))
    with contextlib.suppress(DataError, ConfigError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        allowlist.loads(zipped({**parts, "schema.json": schema}), "model.skops")


@pytest.mark.parametrize("depth", [500, 100_000])
def test_depth_is_no_way_to_end_the_process(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    state = json.loads(STATES[0]) | {"inputs": "HERE"}
    made = json.dumps(state).encode().replace(b'"HERE"', deep)
    with pytest.raises(DataError):
        load.unpack({**CORPUS[0], "state.json": made}, "cpu")
    node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": []}
    shell = json.dumps({**node, "protocol": skops.io._protocol.PROTOCOL, "content": ["HERE"]})
    for one in (b"[", json.dumps(node).encode()[:-2]):
        end = {b"[": b"]"}.get(one, b"]}")
        schema = shell.encode().replace(b'"HERE"', one * depth + end * depth)
        with pytest.raises(DataError, match="not a model"):
            allowlist.loads(zipped({"schema.json": schema}), "model.skops")
