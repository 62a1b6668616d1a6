from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from pipeline.data import files
from pipeline.errors import ConfigError, DataError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
MODELS = {
    "linear": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(n_estimators=3, random_state=0),
    "boosting": XGBClassifier(n_estimators=3),
}


class Stranger(ClassifierMixin, BaseEstimator):
    """A classifier that nobody has declared safe."""

    def fit(self, X: Any, y: Any) -> Stranger:
        self.classes_ = np.unique(y)
        return self


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "linear.skops"
    return path, files.save(MODELS["linear"].fit(X, Y), path)


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(name: str) -> None:
        raise AssertionError(f"{name} was to read a file that should not be trusted")

    monkeypatch.setattr(files, "load_name", parse)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    model, path = MODELS[name].fit(X, Y), tmp_path / "model.skops"
    loaded = files.load(path, files.save(model, path))
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_it_loads_as_plain_scikit_learn(saved: tuple[Path, str]) -> None:
    loaded = files.load(*saved)
    assert type(loaded) is Pipeline
    assert [type(step) for _, step in loaded.steps] == [StandardScaler, LogisticRegression]


def test_the_digest_is_that_of_the_file(saved: tuple[Path, str]) -> None:
    path, sha256 = saved
    assert sha256 == files.digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.usefixtures("no_parser")
@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99])
def test_a_flipped_bit_is_caught_before_anything_is_parsed(tmp_path: Path, place: float) -> None:
    path = tmp_path / "model.skops"
    path.write_bytes(bytes(1000))
    sha256 = files.digest(path)
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"model\.skops: damaged or replaced: .*" + sha256):
        files.load(path, sha256)


@pytest.mark.usefixtures("no_parser")
def test_a_missing_model_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.skops: no such model; make one with `make run`"):
        files.load(tmp_path / "gone.skops", "0" * 64)


def test_types_that_are_not_trusted_are_named_and_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "stranger.skops"
    sha256 = files.save(Stranger().fit(X, Y), path)
    with pytest.raises(ConfigError, match=r"stranger\.skops: .*not trusted: .*Stranger"):
        files.load(path, sha256)


def test_a_file_that_holds_no_model_is_told(tmp_path: Path) -> None:
    text, archive = tmp_path / "text.skops", tmp_path / "archive.skops"
    text.write_text("not a model")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("other.json", "{}")
    for path in (text, archive):
        with pytest.raises(DataError, match=rf"{path.name}: not a model"):
            files.load(path, files.digest(path))
