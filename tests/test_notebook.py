"""What a notebook and a prompt show: short, readable, and no text taken for markup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pipeline
from pipeline.benchmark import api
from pipeline.system import doctor
from tests.benchmark import fixtures
from tests.benchmark.test_report import Batch

ODD = "<script>alert('it')</script>"
DRAW = np.random.default_rng(0)
FRAME = pd.DataFrame({ODD: DRAW.normal(size=400), "b": DRAW.normal(size=400)})
FRAME["kind"] = np.where(FRAME[ODD] + FRAME["b"] > 0, ODD, "good")


@pytest.fixture(scope="module")
def model() -> pipeline.Accelerated:
    steps = make_pipeline(StandardScaler(), LogisticRegression())
    fitted = pipeline.Accelerated(steps, device="cpu").fit(FRAME[[ODD, "b"]], FRAME["kind"])
    fitted.predict(FRAME[[ODD, "b"]])
    return fitted


def made(folder: Path) -> Any:
    (folder / "tasks").mkdir()
    FRAME.to_csv(folder / "odd <i>.csv", index=False)
    return pipeline.new_task(folder / "odd <i>.csv", "kind", name="odd")


def reported(folder: Path) -> Any:
    hostile = structs.asdict(fixtures.hostile())
    return api.Report(**hostile, page="a folder/<i>/index.html")


OF_MODEL: dict[str, tuple[Callable[[Any], Any], str]] = {
    "log": (lambda model: model.execution_log_, "fit_transform"),
    "plan": (lambda model: model.plan_, "sklearn.LogisticRegression"),
    "step": (lambda model: model.plan_.steps[-1], "sklearn.LogisticRegression"),
    "certificate": (lambda model: model.certify(FRAME[[ODD, "b"]]), "predict_proba"),
    "importance": (
        lambda model: model.importance(FRAME[[ODD, "b"]], FRAME["kind"], random_state=0),
        "Permutation importance of 2 columns, 5 repeats",
    ),
    "explanation": (lambda model: pipeline.explain(model.estimator, "cuda"), "standardscaler"),
    "diagnosis": (lambda model: doctor.diagnose(), "Processor"),
}
OF_FOLDER = {
    "new task": (made, "positive class"),
    "report": (reported, "report: a folder/<i>/index.html"),
}


def check(shown: Any, words: str) -> None:
    assert words in repr(shown) == str(shown)
    assert len(repr(shown)) < 4_000
    assert f"{type(shown).__name__}(" not in repr(shown)
    if not hasattr(shown, "_repr_html_"):
        return
    page = Batch(shown._repr_html_())
    assert page.open == []
    tags = {tag for tag, _ in page.tags}
    assert "style" in tags
    assert not {"script", "i"} & tags


@pytest.mark.parametrize("name", OF_MODEL)
def test_what_a_model_tells_is_short_and_escaped(model: pipeline.Accelerated, name: str) -> None:
    show, words = OF_MODEL[name]
    check(show(model), words)


@pytest.mark.parametrize("name", OF_FOLDER)
def test_what_a_table_becomes_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    show, words = OF_FOLDER[name]
    check(show(tmp_path), words)
