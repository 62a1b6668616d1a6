"""A script on a GPU: a ColumnTransformer of text and numbers stays on the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pipeline import accel
from pipeline.accel.adopted import state_of
from pipeline.accel.engine import Engine
from pipeline.errors import Unsupported
from tests.contract.cases import EVERYWHERE, table, target, to_cudf

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture(autouse=True)
def installed(device: Any) -> Iterator[None]:
    accel.install(device="cuda", strict=True, min_size=0)
    yield
    accel.uninstall()


def program(model: Any) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(
        make_column_transformer((numbers, NUMBERS), (OneHotEncoder(), TEXTS)), model
    )


TABLE = pd.concat([table()] * 40, ignore_index=True)  # more than a copy of state
NUMBERS = [name for name in TABLE if pd.api.types.is_numeric_dtype(TABLE[name])][:2]
TEXTS = [name for name in TABLE if pd.api.types.is_string_dtype(TABLE[name])][:1]


@EVERYWHERE
@pytest.mark.parametrize("place", ["host", "device"])
def test_nothing_comes_to_the_host_between_reading_and_predictions(place: str) -> None:
    X = TABLE if place == "host" else to_cudf(TABLE)
    y = target(TABLE, 2)
    model = program(LogisticRegression())
    reference = clone(model)
    assert model.fit(X, y) is model
    found = model.predict(X)
    fit, predict = accel.calls()
    assert (fit.ran, predict.ran) == ("cuda", "cuda")
    assert max(fit.to_host_bytes, predict.to_host_bytes - found.nbytes) < len(TABLE)
    state: Any = state_of(model)
    assert not state.lifted
    accel.uninstall()
    np.testing.assert_array_equal(found, reference.fit(TABLE, y).predict(TABLE))
    assert model[-1].coef_.shape == reference[-1].coef_.shape


@EVERYWHERE
def test_a_forest_is_converted_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    lifted, lift = [], Engine.to_sklearn
    monkeypatch.setattr(Engine, "to_sklearn", lambda model: lifted.append(model) or lift(model))
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    forest.predict(X[:2])
    assert [site.ran for site in accel.calls()] == ["cuda", "cuda"]
    assert not lifted
    assert len(forest.estimators_) == 3
    assert len(lifted) == 1


@EVERYWHERE
def test_what_a_gpu_cannot_run_is_an_error_if_strict_and_is_told_otherwise() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] > 0
    with pytest.raises(Unsupported, match="decisiontreeclassifier: "):
        make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, y)
    accel.install(device="cuda", min_size=0)
    make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, y)
    (site,) = accel.calls()
    assert site.ran == "cuda, cpu"
    assert site.why.startswith("decisiontreeclassifier: ")
