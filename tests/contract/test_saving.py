"""Models go from one device to the other as files, on the stand-ins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from pipeline import Accelerated, Unsupported
from pipeline.backends.cuml.tables import rule
from pipeline.serving.load import load
from pipeline.serving.save import save
from tests import programs
from tests.contract.recorder import Recorder
from tests.contract.verify import faults
from tests.estimators import CASES, Case, named
from tests.names import one_in

METHODS = ("predict_proba", "decision_function", "predict", "transform", "score_samples")
ON_CUML = [case for case in CASES if rule(case.estimator)]
TAKEN_OVER = [case for case in ON_CUML if rule(case.estimator).translation is None]
OWN = [case for case in ON_CUML if rule(case.estimator).translation]


def answer(model: Accelerated, X: np.ndarray) -> np.ndarray | None:
    method = next((name for name in METHODS if hasattr(model, name)), None)
    return None if method is None else getattr(model, method)(X)


def assert_same(a: Accelerated, b: Accelerated, X: np.ndarray) -> None:
    found, wanted = answer(a, X), answer(b, X)
    if wanted is not None:
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", one_in(6, ON_CUML), ids=named)
@pytest.mark.usefixtures("device")
def test_a_model_of_the_gpu_answers_on_the_cpu(case: Case, tmp_path: Path) -> None:
    X, y = case.data()
    model = Accelerated(clone(case.estimator), device="cuda").fit(X, y)
    loaded = load(save(model, tmp_path / "model"), "cpu")
    assert {step.device for step in loaded.plan_.placements} == {"cpu"}
    if type(case.estimator) is LinearRegression:  # in float64 on the GPU, of any rows
        X = X.astype("float64")
    reference = Accelerated(clone(case.estimator), device="cpu").fit(X, y)
    if case.estimator.__class__.__name__ not in ("TSNE", "SpectralEmbedding"):
        assert_same(loaded, reference, X)


@pytest.mark.parametrize("case", one_in(5, TAKEN_OVER), ids=named)
def test_a_model_of_the_cpu_answers_on_the_gpu(
    case: Case, tmp_path: Path, device: Recorder
) -> None:
    X, y = case.data()
    model = Accelerated(clone(case.estimator), device="cpu").fit(X, y)
    loaded = load(save(model, tmp_path / "model"), "cuda")
    assert {step.device for step in loaded.plan_.placements} == {"cuda"}
    assert faults(device.calls) == []
    twin = rule(case.estimator).twin
    assert [c.name for c in device.calls if c.owner == twin][-1:] == ["_sync_attrs_from_cpu"]
    if case.estimator.__class__.__name__ not in ("TSNE", "SpectralEmbedding", "PCA"):
        assert_same(loaded, model, X)


@pytest.mark.parametrize("case", OWN, ids=named)
@pytest.mark.usefixtures("device")
def test_what_cuml_cannot_take_over_runs_on_the_host_and_says_so(
    case: Case, tmp_path: Path
) -> None:
    X, y = case.data()
    model = Accelerated(clone(case.estimator), device="cpu").fit(X, y)
    folder = save(model, tmp_path / "model")
    with pytest.raises(Unsupported, match="cuML takes no fitted .* over from scikit-learn"):
        load(folder, "cuda")
    loaded = load(folder, "auto")
    (placed,) = loaded.plan_.placements
    assert placed.device == "cpu"
    assert "cuML takes no fitted" in placed.note
    assert_same(loaded, model, X)


@pytest.mark.parametrize("trained", ["cpu", "cuda"])
@pytest.mark.parametrize("used", ["cpu", "cuda"])
@pytest.mark.usefixtures("device")
def test_a_program_goes_from_device_to_device(trained: str, used: str, tmp_path: Path) -> None:
    estimator = programs.program(programs.MODELS["logistic"])
    model = Accelerated(estimator, device=trained, dtype="float32")
    model.fit(programs.TABLE, programs.NUMBERS)
    loaded = load(save(model, tmp_path / "model"), used)
    assert {step.device for step in loaded.plan_.placements} == {used}
    np.testing.assert_allclose(
        loaded.predict_proba(programs.TABLE), model.predict_proba(programs.TABLE), rtol=1e-5
    )
