"""Files of unknown origin: refused or contained, and nothing of them runs here."""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import shutil
import signal
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier, XGBRegressor

from pipeline.errors import ConfigError, DataError
from pipeline.serving import manifest
from pipeline.serving.isolated import Isolated
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


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    return tmp_path / "bad"


def booster(path: Path, estimator: Any) -> Path:
    estimator.fit(X, Y).save_model(path)
    return path


def test_a_folder_of_ours_answers_as_it_does_here_and_labels_are_text(tmp_path: Path) -> None:
    model = programs.on_cpu().fit(programs.TABLE, programs.WORDS)
    with load(save(model, tmp_path / "model"), untrusted=True) as served:
        assert isinstance(served, Isolated)
        for method in ("predict", "predict_proba"):
            wanted = getattr(model, method)(programs.TABLE)
            np.testing.assert_array_equal(getattr(served, method)(programs.TABLE), wanted)
        with pytest.raises(DataError, match=r"X lacks the columns \['c1'\]"):
            served.predict(programs.TABLE.drop(columns="c1"))
        assert len(served.predict(programs.TABLE)) == len(programs.TABLE)


def test_a_booster_of_anybody_is_served_and_the_end_of_its_process_told(tmp_path: Path) -> None:
    estimator = XGBClassifier(n_estimators=2)
    with load(booster(tmp_path / "m.ubj", estimator), untrusted=True) as served:
        np.testing.assert_array_equal(served.predict(X), estimator.predict(X))
        os.kill(served._process.pid, signal.SIGSEGV)
        says = r"m\.ubj: the process that read it ended with SIGSEGV"
        with pytest.raises(DataError, match=says):
            served.predict(X)


def test_a_booster_as_json_is_served_with_little_memory(tmp_path: Path) -> None:
    estimator = XGBRegressor(n_estimators=2)
    path = booster(tmp_path / "m.json", estimator)
    with Isolated(path, memory_bytes=200 * 1024**2) as served:
        np.testing.assert_array_equal(served.predict(X), estimator.predict(X))
        with pytest.raises(DataError, match=r"m\.json: "):
            served.predict(np.zeros((20_000_000, 3), dtype="float32"))


def test_a_skops_file_of_anybody_is_served(tmp_path: Path) -> None:
    forest = RandomForestClassifier(3).fit(X, Y)
    skops.io.dump(forest, tmp_path / "m.skops")
    with load(tmp_path / "m.skops", untrusted=True) as served:
        np.testing.assert_array_equal(served.predict_proba(X), forest.predict_proba(X))
        with pytest.raises(DataError, match="has no transform"):
            served.transform(X)


def test_nothing_foreign_is_read_without_being_asked_to(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a model that this package saved; .*untrusted=True"):
        load(booster(tmp_path / "m.ubj", XGBClassifier(n_estimators=1)))
    with pytest.raises(ConfigError, match="runs on the CPU"):
        load(tmp_path / "m.ubj", "cuda", untrusted=True)


@pytest.mark.parametrize("untrusted", [False, True])
def test_a_pickle_is_refused_and_does_not_run(bad: Path, marker: Path, *, untrusted: bool) -> None:
    bad.write_bytes(pickle.dumps(Marker(marker)))
    with pytest.raises(DataError):
        load(bad, untrusted=untrusted)
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
    bad: Path, tmp_path: Path, marker: Path, name: str
) -> None:
    evil = _renamed(skops.io.dumps(functools.partial(np.sort, str(marker))), name)
    if name == "mkdir":
        bad.write_bytes(evil)
        with pytest.raises(DataError, match=f"not trusted: .*{name}"):
            load(bad, untrusted=True)
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


@pytest.mark.parametrize("form", ["tar", "zip that leaves its folder", "zip bomb", "empty"])
def test_archives_are_refused_and_leave_nothing(bad: Path, tmp_path: Path, form: str) -> None:
    if form == "tar":
        with tarfile.open(bad, "w") as archive:
            archive.addfile(tarfile.TarInfo("../marker"), io.BytesIO())
    elif form == "empty":
        bad.write_bytes(b"")
    else:
        with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as archive:
            text = "x" if form != "zip bomb" else "[" * 50_000_000
            archive.writestr("../marker" if form != "zip bomb" else "schema.json", text)
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(DataError):
        load(bad, untrusted=True)
    assert {path.name for path in tmp_path.iterdir()} == before
    assert not (tmp_path.parent / "marker").exists()


def test_a_booster_that_is_damaged_never_ends_this_process(tmp_path: Path) -> None:
    path = booster(tmp_path / "m.ubj", XGBClassifier(n_estimators=2, max_depth=2))
    whole, chance = path.read_bytes(), np.random.default_rng(0)
    outcomes = []
    for _ in range(2):
        data = bytearray(whole)
        for place in chance.integers(1, len(data), 60):
            data[place] ^= 0xFF
        path.write_bytes(data)
        try:
            with load(path, untrusted=True) as served:
                served.predict(X)
            outcomes.append("served")
        except DataError as error:
            outcomes.append(str(error))
    assert any("not a model" in outcome for outcome in outcomes)


def test_a_booster_whose_trees_lead_nowhere_never_ends_this_process(tmp_path: Path) -> None:
    path = booster(tmp_path / "m.json", XGBClassifier(n_estimators=1, max_depth=2))
    crafted = json.loads(path.read_text())
    (tree,) = crafted["learner"]["gradient_booster"]["model"]["trees"]
    tree["left_children"][0] = tree["right_children"][0] = 10**6
    path.write_text(json.dumps(crafted))
    with pytest.raises(DataError, match=r"m\.json: "), load(path, untrusted=True) as served:
        served.predict(X)
