"""Bad data: an error that names it, or the right answer; never a wrong one in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, save
from tests.commands import assert_one_message, call

ROWS = 40
TABLE = pd.DataFrame({"a": np.arange(ROWS) * 1.0, "t": ["x", "?", "NAN", "null "] * (ROWS // 4)})
Y = np.arange(ROWS) % 2
NUMBERS = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
SIGNS = (NUMBERS["a"] > 0).astype(int).to_numpy()


def on_cpu(pipeline: Any) -> Accelerated:
    return Accelerated(pipeline, device="cpu")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["t"]))
    fitted = on_cpu(make_pipeline(columns, LogisticRegression())).fit(TABLE, Y)
    return save(fitted, tmp_path_factory.mktemp("m") / "model")


def test_nothing_is_written_over_what_is_read(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.parquet"
    TABLE.to_parquet(source)
    before = source.read_bytes(), sorted(model.iterdir())
    (tmp_path / "link").symlink_to(source)
    targets = {source: 2, tmp_path / "link": 2, model / "out.parquet": 2, model: 73}
    for target, code in targets.items():
        done = call("predict", model, source, target, "--device", "cpu")
        assert_one_message(done, code, target.name, "choose another")
    assert (source.read_bytes(), sorted(model.iterdir())) == before


def test_a_text_that_csv_cannot_hold_is_told(tmp_path: Path) -> None:
    namibia = pd.DataFrame({"country": ["NA", "DE"] * 20})
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    save(Accelerated(pipeline, "cpu", profile=True).fit(namibia, Y), tmp_path / "model")
    namibia.to_csv(tmp_path / "in.csv", index=False)
    with pytest.warns(UserWarning, match=r"the texts \{'country': \['NA'\]\}, which CSV"):
        call("predict", tmp_path / "model", tmp_path / "in.csv", tmp_path / "out")


def test_categories_in_another_order_or_fewer_change_no_answer() -> None:
    X = pd.DataFrame({"c": pd.Categorical(["a", "b"] * 20)})
    again = X.assign(c=X["c"].cat.set_categories(["b", "a"]))
    less = X[X["c"] == "b"].assign(c=lambda x: x["c"].cat.remove_unused_categories())
    boosting = XGBClassifier(n_estimators=2, enable_categorical=True)
    for pipeline in (make_pipeline(OneHotEncoder(), LogisticRegression()), boosting):
        model = on_cpu(pipeline).fit(X, Y)
        wanted = model.predict_proba(X)
        np.testing.assert_array_equal(model.predict_proba(again), wanted)
        np.testing.assert_array_equal(model.predict_proba(less), wanted[1::2])
