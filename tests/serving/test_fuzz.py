"""Whatever bytes the loaders are given, they refuse them with an error of ours, or read them.

The corpus is the models that are kept as files; the number of examples is bounded. Boosters
are left out: the parser is C++ and may crash, so a model is loaded only from who is trusted.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from pipeline.benchmark import prepare
from pipeline.errors import ConfigError, DataError, PipelineError
from pipeline.serving import allowlist, load, manifest, state
from pipeline.serving.codec import Decoder, Encoder
from tests.serving.test_formats import FOLDERS

BOUNDED = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TAGS = sorted(Decoder._DECODERS)
NAMES = ["sklearn.linear_model.Ridge", "os.system", "numpy:log1p", "a0", "python:int", "KFold"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=9),
    st.sampled_from(NAMES),
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from([*TAGS, "@none"]), inner, min_size=1, max_size=2),
        st.tuples(st.sampled_from(NAMES), st.lists(inner, max_size=2), inner).map(list),
    ),
    max_leaves=12,
)
CORPUS = [manifest.read(folder)[1] for folder in FOLDERS]
STATES = [files["state.json"] for files in CORPUS]
TABLES = [files["arrays.npz"] for files in CORPUS]
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


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value)) if not isinstance(value, float) else value


@BOUNDED
@given(DOCUMENTS)
def test_documents_are_values_or_refused(document: Any) -> None:
    with contextlib.suppress(DataError):
        Decoder({"a0": np.arange(3.0)}).decode(plain(document))


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(),
        st.sampled_from([np.float32, int, np.log1p, np.dtype("int8"), np.int16(3)]),
        st.sampled_from([np.array([1, 2]), np.array(["a", None, math.nan], dtype=object)]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), inner, max_size=3),
    ),
    max_leaves=10,
)


@BOUNDED
@given(VALUES)
def test_values_come_back_from_their_documents(value: Any) -> None:
    encoder = Encoder()
    document = encoder.encode(value, "value")
    found = Decoder(encoder.arrays).decode(json.loads(json.dumps(document)))
    assert repr(found) == repr(value)


@BOUNDED
@given(mutated(MANIFESTS))
def test_manifests_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(DataError):
        manifest._manifest(data, Path("model"))


@BOUNDED
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


@BOUNDED
@given(st.integers(0, len(CORPUS) - 1), st.data())
def test_states_are_models_or_refused(number: int, data: Any) -> None:
    files = CORPUS[number]
    if any(name.endswith(".ubj") for name in files):
        return
    unpacked({**files, "state.json": data.draw(mutated([files["state.json"]]))})


@BOUNDED
@given(mutated(TABLES))
def test_tables_of_arrays_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(DataError):
        state._arrays(data)


@pytest.mark.parametrize(
    "number", [i for i, text in enumerate(STATES) if re.search(rb'"\w+_"', text)]
)
def test_a_state_without_an_attribute_is_refused_or_read(number: int) -> None:
    files = CORPUS[number]
    names = set(re.findall(rb'"(\w+_)"', files["state.json"]))
    assert names
    for name in names:
        renamed = files["state.json"].replace(b'"%s"' % name, b'"%sx"' % name)
        unpacked({**files, "state.json": renamed})


FOREST = RandomForestClassifier(2, max_depth=2, random_state=0).fit(np.eye(4), [0, 1, 0, 1])
SKOPS = allowlist.dumps(FOREST, FOREST, "forest")


@BOUNDED
@given(mutated([SKOPS]))
def test_estimators_are_read_or_refused(data: bytes) -> None:
    try:
        made = allowlist.loads(data, FOREST, "forest")
    except (DataError, ConfigError):
        return
    assert type(made) is RandomForestClassifier


@BOUNDED
@given(st.text(max_size=60))
def test_settings_of_the_command_line_are_read_or_refused(text: str) -> None:
    try:
        name, _ = prepare.parse_change(text)
    except ConfigError:
        return
    assert isinstance(name, str)


@pytest.mark.parametrize("depth", [500, 100_000])
def test_depth_is_no_way_to_end_the_process(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    for name in ("estimator", "intake"):
        text = json.loads(STATES[0])
        text[name] = "HERE"
        data = json.dumps(text).encode().replace(b'"HERE"', deep)
        with pytest.raises(DataError):
            load.unpack({**CORPUS[0], "state.json": data}, "cpu")
