from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from pipeline import Accelerated, explain
from tests.programs import NUMBERS, TABLE, on_cpu

X = TABLE[["n1", "n2"]]
SCALED = make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), ["n1", "n2"]))
STEPS: dict[str, list[Any]] = {
    "joined": [SimpleImputer(), StandardScaler(), Ridge()],
    "one after the other": [SCALED, PCA(2), MinMaxScaler(), SelectKBest(k=1), Ridge()],
    "transformers alone": [SimpleImputer(), StandardScaler(), MinMaxScaler()],
    "one": [SimpleImputer()],
    "left out": [None, SimpleImputer(), "passthrough", "passthrough", StandardScaler(), Ridge()],
    "left out at the end": [SimpleImputer(), StandardScaler(), None, "passthrough"],
    "clusters": [SimpleImputer(), "passthrough", KMeans(2, n_init=1)],
    "a pipeline inside": [
        Pipeline([("i", SimpleImputer()), ("s", StandardScaler())], verbose=True), Ridge()
    ],
}  # fmt: skip


def lines(model: Any, method: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what a fit prints, without the times."""
    getattr(model, method)(X, NUMBERS)
    printed = capsys.readouterr().out
    return re.sub(r"total=.*", "", printed).splitlines()


@pytest.mark.parametrize("method", ["fit", "fit_transform", "fit_predict"])
@pytest.mark.parametrize("name", STEPS)
def test_a_verbose_pipeline_prints_the_lines_of_sklearn(
    name: str, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = Pipeline([(f"step{i}", step) for i, step in enumerate(STEPS[name])], verbose=True)
    if hasattr(pipeline, method):
        expected = lines(clone(pipeline), method, capsys)
        assert len(expected) >= len(pipeline)
        model = pickle.loads(pickle.dumps(on_cpu(pipeline)))
        assert lines(model, method, capsys) == expected
    quiet = clone(pipeline).set_params(verbose=False)
    assert lines(on_cpu(quiet), "fit", capsys) == lines(clone(quiet), "fit", capsys)


def test_a_memory_that_is_not_used_is_said(tmp_path: Any) -> None:
    pipeline = make_pipeline(OneHotEncoder(), Ridge(), memory=str(tmp_path))
    assert "memory: fitted steps are not kept" in str(explain(pipeline, device="cpu"))
    model = Accelerated(pipeline, device="cpu").fit(TABLE[["c1"]], NUMBERS)
    assert "memory: " in model.plan_.placements[0].note
    assert not [*tmp_path.iterdir()]
    expected = clone(pipeline).set_params(memory=None).fit(TABLE[["c1"]], NUMBERS)
    np.testing.assert_allclose(model.predict(TABLE[["c1"]]), expected.predict(TABLE[["c1"]]))
