"""A folder that is not as it was saved is refused before a parser sees a byte of it."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path

import msgspec
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.errors import DataError
from pipeline.serving import load as reading
from pipeline.serving import manifest
from pipeline.serving.load import load
from pipeline.serving.save import About, save
from tests import programs
from tests.serving.test_load import rewrite

SEED, FLIPS = 0, 20


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = programs.on_cpu(programs.program(XGBClassifier(n_estimators=3)))
    about = About(metrics={"auc": 0.75}, data_sha256="ab" * 32)
    return save(
        model.fit(programs.TABLE, programs.NUMBERS), tmp_path_factory.mktemp("m") / "model", about
    )


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("a file that should not be trusted was to be parsed")

    monkeypatch.setattr(reading, "unpack", parse)
    monkeypatch.setattr(manifest, "_manifest", parse)


def test_the_manifest_says_what_there_is(saved: Path) -> None:
    found, files = manifest.read_manifest(saved)
    assert found.format == "pipeline.model/4"
    assert (found.metrics, found.data_sha256) == ({"auc": 0.75}, "ab" * 32)
    assert {"state.json", "model.skops", "step-1.ubj"} == set(files)
    assert found.versions["scikit-learn"]
    assert [p.step for p in found.plan][-1] == "xgbclassifier"


def test_a_flipped_bit_is_found_before_any_parser(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("no_parser")
    chance = random.Random(SEED)
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for _ in range(FLIPS):
            data = bytearray(whole)
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            path.write_bytes(data)
            with pytest.raises(DataError, match="damaged|missing"):
                load(folder)
        path.write_bytes(whole)


@pytest.mark.usefixtures("no_parser")
def test_files_that_are_lost_cut_linked_or_added_are_found(folder: Path, tmp_path: Path) -> None:
    def refused(says: str) -> None:
        with pytest.raises(DataError, match=says):
            load(folder)

    (folder / "extra").write_text("")
    refused(r"missing files \[\], unknown files \['extra'\]")
    (folder / "extra").unlink()
    part = folder / "model.skops"
    part.rename(tmp_path / "elsewhere")
    refused(r"missing files \['model\.skops'\]")
    part.symlink_to(tmp_path / "elsewhere")
    refused("not a regular file")
    part.unlink()
    part.write_bytes((tmp_path / "elsewhere").read_bytes()[:-1])
    refused(r"model\.skops: damaged: SHA-256")


def test_another_format_and_another_version_of_a_package_are_reported(folder: Path) -> None:
    found, files = manifest.read_manifest(folder)
    other = msgspec.structs.replace(found, format="pipeline.model/5")
    rewrite(folder, files, other)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"format 'pipeline\.model/5', but this version reads"):
        load(folder)
    old = msgspec.structs.replace(found, versions={"scikit-learn": "1.2.3"})
    rewrite(folder, files, old)
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 1\.2\.3"):
        load(folder, "cpu")


def test_what_is_no_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone: no such model; create one with `pipeline\.save"):
        load(tmp_path / "gone")
    with pytest.raises(DataError, match="not a model folder written by `pipeline.save`"):
        load(tmp_path)


def test_a_model_replaces_a_model_and_nothing_else(saved: Path, tmp_path: Path) -> None:
    model = load(saved, "cpu")
    target = tmp_path / "model"
    first = save(model, target)
    save(model, first, About(metrics={"auc": 1.0}))
    assert manifest.read_manifest(target)[0].metrics == {"auc": 1.0}
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(OSError, match="contains files other than results"):
        save(model, other)
    assert (other / "thesis.txt").read_text() == "mine"


def test_no_training_row_is_kept(tmp_path: Path) -> None:
    X = programs.TABLE.assign(n1=123456.75, c2="secret")
    X.loc[1:, "n1"] = 2.0
    X.loc[1:, "c2"] = "x"
    estimator = make_pipeline(
        make_column_transformer((SimpleImputer(), ["n1", "n2"]), (OneHotEncoder(), ["c1"])),
        RandomForestClassifier(2),
    )
    model = Accelerated(estimator, device="cpu").fit(X, programs.NUMBERS)
    for path in save(model, tmp_path / "model").iterdir():
        data = path.read_bytes()
        assert not data.startswith(b"\x80"), f"{path} is a pickle"
        assert b"123456.75" not in data
        assert struct.pack("<d", 123456.75) not in data
        assert struct.pack("<f", 123456.75) not in data
        assert b"secret" not in data
