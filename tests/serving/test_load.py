"""Files that an attacker made: refused, and nothing of them runs here."""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

from pipeline.errors import ConfigError, DataError
from pipeline.serving import manifest
from pipeline.serving.load import load
from pipeline.serving.save import save
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


FOREIGN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("not a model"),
    "folder": lambda path: path.mkdir(),
    "skops": lambda path: skops.io.dump(RandomForestClassifier(1).fit(X, Y), path),
    "booster": lambda path: XGBClassifier(n_estimators=1).fit(X, Y).save_model(f"{path}.ubj"),
}


@pytest.mark.parametrize("form", FOREIGN)
def test_what_this_package_did_not_save_is_not_read(tmp_path: Path, form: str) -> None:
    FOREIGN[form](tmp_path / "foreign")
    (path,) = tmp_path.iterdir()
    with pytest.raises(DataError, match="not a folder that `pipeline.save` made; pickles, skops"):
        load(path)


def test_a_pickle_is_refused_and_does_not_run(tmp_path: Path, marker: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(pickle.dumps(Marker(marker)))
    with pytest.raises(DataError, match="not a folder that `pipeline.save` made"):
        load(bad)
    assert not marker.exists()
    pickle.loads(bad.read_bytes())
    assert marker.exists(), "the pickle was harmless, so the test showed nothing"


def test_a_pickle_inside_a_file_of_arrays_does_not_run(tmp_path: Path, marker: Path) -> None:
    folder = save(programs.on_cpu().fit(programs.TABLE, programs.NUMBERS), tmp_path / "model")
    buffer = io.BytesIO()
    np.savez(buffer, a0=np.array([Marker(marker)], dtype=object))
    _replace(folder, "arrays.npz", buffer.getvalue())
    with pytest.raises(DataError, match="not a file of arrays: Object arrays"):
        load(folder)
    assert not marker.exists()
    np.load(io.BytesIO(buffer.getvalue()), allow_pickle=True)["a0"]
    assert marker.exists(), "the pickle was harmless, so the test showed nothing"


def _replace(folder: Path, name: str, data: bytes) -> None:
    """Change a part as somebody would who can compute sums."""
    found, files = manifest.read(folder)
    files[name] = data
    shutil.rmtree(folder)
    folder.mkdir()
    parts = manifest.parts(files)
    manifest.write(folder, files, msgspec.structs.replace(found, parts=parts))


def _renamed(data: bytes, name: str) -> bytes:
    """Return a skops file in which a function of NumPy is one of the system."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        schema = json.loads(archive.read("schema.json"))

    def rename(node: Any) -> None:
        for each in node.values() if isinstance(node, dict) else node:
            if isinstance(each, dict | list):
                rename(each)
        if isinstance(node, dict) and node.get("__class__") == "sort":
            node.update(__class__=name, __module__="os")

    rename(schema)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["system", "mkdir"])
def test_a_skops_file_that_names_a_function_is_refused(
    tmp_path: Path, marker: Path, name: str
) -> None:
    evil = _renamed(skops.io.dumps(functools.partial(np.sort, str(marker))), name)
    model = programs.on_cpu().fit(programs.TABLE, programs.NUMBERS)
    folder = save(model, tmp_path / "model")
    _replace(folder, "step-0.skops", evil)
    with pytest.raises(ConfigError, match=f"not trusted: .*{name}"):
        load(folder)
    assert not marker.exists()


def test_a_part_may_not_hold_another_estimator(tmp_path: Path) -> None:
    folder = save(programs.on_cpu().fit(programs.TABLE, programs.NUMBERS), tmp_path / "model")
    _replace(folder, "step-0.skops", skops.io.dumps(RandomForestClassifier(1).fit(X, Y)))
    with pytest.raises(ConfigError, match="Tree"):
        load(folder)
