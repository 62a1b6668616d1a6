"""Files that an attacker made: refused, and nothing of them runs here."""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from xgboost import Booster, XGBClassifier

from pipeline import Accelerated
from pipeline.errors import ConfigError, DataError
from pipeline.serving import allowlist, manifest
from pipeline.serving.load import load, unpack
from pipeline.serving.save import About, pack, save
from tests import programs

X = np.random.default_rng(0).normal(size=(40, 3)).astype("float32")
Y = (X[:, 0] > 0).astype(int)


class Marker:
    """A pickle of it makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "marker"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = programs.on_cpu().fit(programs.TABLE, programs.NUMBERS)
    return save(model, tmp_path_factory.mktemp("saved") / "model")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def test_a_pickle_is_refused_and_does_not_run(tmp_path: Path, marker: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(pickle.dumps(Marker(marker)))
    with pytest.raises(DataError, match="not a model folder written by `pipeline.save`"):
        load(bad)
    assert not marker.exists()
    pickle.loads(bad.read_bytes())
    assert marker.exists(), "the pickle was harmless, so the test showed nothing"


def test_a_pickle_inside_a_file_of_arrays_does_not_run(folder: Path, marker: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Marker(marker)], dtype=object))
    parts = members((folder / "model.skops").read_bytes())
    array = next(name for name in parts if name.endswith(".npy"))
    _replace(folder, "model.skops", zipped({**parts, array: buffer.getvalue()}))
    with pytest.raises(DataError, match="not a model: ValueError: Object arrays"):
        load(folder)
    assert not marker.exists()
    np.load(io.BytesIO(buffer.getvalue()), allow_pickle=True)
    assert marker.exists(), "the pickle was harmless, so the test showed nothing"


def _replace(folder: Path, name: str, data: bytes) -> None:
    """Change a part as somebody would who can compute sums."""
    found, files = manifest.read_manifest(folder)
    files[name] = data
    rewrite(folder, files, found)


def rewrite(folder: Path, files: dict[str, bytes], described: manifest.Manifest) -> None:
    """Write a folder again with other parts, or another manifest."""
    shutil.rmtree(folder)
    folder.mkdir()
    manifest.write_manifest(folder, files, described)


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _renamed(data: bytes, name: str) -> bytes:
    """Return a skops file in which a function of NumPy is one of the system."""
    parts = members(data)
    schema = json.loads(parts["schema.json"])

    def rename(node: Any) -> None:
        for each in node.values() if isinstance(node, dict) else node:
            if isinstance(each, dict | list):
                rename(each)
        if isinstance(node, dict) and node.get("__class__") == "sort":
            node.update(__class__=name, __module__="os")

    rename(schema)
    return zipped({"schema.json": json.dumps(schema).encode()})


@pytest.mark.parametrize("name", ["system", "mkdir"])
def test_a_file_that_names_a_function_is_refused(folder: Path, marker: Path, name: str) -> None:
    evil = _renamed(skops.io.dumps(functools.partial(np.sort, str(marker))), name)
    _replace(folder, "model.skops", evil)
    with pytest.raises(ConfigError, match=f"not trusted: .*{name}"):
        load(folder)
    assert not marker.exists()


def test_a_module_that_is_not_on_the_list_is_not_imported(folder: Path) -> None:
    parts = members(skops.io.dumps(Marker(folder)))
    schema = parts["schema.json"].replace(b"tests.serving.test_load", b"antigravity")
    assert schema != parts["schema.json"]
    _replace(folder, "model.skops", zipped({**parts, "schema.json": schema}))
    with pytest.raises(ConfigError, match="not trusted: .*antigravity"):
        load(folder)
    assert "antigravity" not in sys.modules


def test_what_is_compressed_is_not_unpacked(folder: Path) -> None:
    parts = {"schema.json": b"[" * 50_000_000}
    _replace(folder, "model.skops", zipped(parts, zipfile.ZIP_DEFLATED))
    with pytest.raises(DataError, match="its parts are compressed"):
        load(folder)


def test_a_fitted_estimator_of_another_class_is_refused(folder: Path) -> None:
    held = allowlist.loads((folder / "model.skops").read_bytes(), "model.skops")
    names, _ = held["steps"][1]
    held["steps"][1] = (names, RandomForestClassifier(1).fit(X, Y))
    _replace(folder, "model.skops", skops.io.dumps(held))
    with pytest.raises(DataError, match="holds RandomForestClassifier, not LogisticRegression"):
        load(folder)


def test_a_booster_inside_a_stack_is_checked_too() -> None:
    stack = VotingClassifier([("x", XGBClassifier(n_estimators=2))], voting="soft")
    files, _ = pack(Accelerated(stack, device="cpu").fit(X, Y), About())
    assert type(unpack(files, "cpu").to_sklearn().estimators_[0].get_booster()) is Booster
    parts = members(files["model.skops"])
    column = re.compile(rb"(split_indices\[\$l#L.{8}).{4}", re.DOTALL)
    other = {name: column.sub(b"\\1\x00\xff\xff\xff", part) for name, part in parts.items()}
    assert other != parts
    with pytest.raises(DataError, match=r"not a booster of XGBoost .*: split_indices"):
        unpack({**files, "model.skops": zipped(other)}, "cpu")
    schema = parts["schema.json"].replace(b'"xgboost.core"', b'"xgboost\\u002ecore"')
    with pytest.raises(ConfigError, match=r"not trusted: \['xgboost.core.Booster'\]"):
        unpack({**files, "model.skops": zipped({**parts, "schema.json": schema})}, "cpu")
