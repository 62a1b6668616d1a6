from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from dask import dataframe
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler

from pipeline import explain
from pipeline.backends import gpu_rules
from pipeline.backends.base import Placement
from pipeline.compile import choose
from pipeline.compile.choose import advise, choose_by_size, choose_for, report_fallbacks
from pipeline.compile.spec import Op, RowSpec
from pipeline.errors import DeviceUnavailable, Reason
from pipeline.system import devices, gpu
from pipeline.system.devices import Choice

MANY = 10**9
GPU = gpu.Device("a GPU", 2**34, (9, 0))


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "obstacle", lambda: "")
    monkeypatch.setattr(gpu, "probe", lambda: gpu.Probe("590.44", (GPU,)))


@pytest.mark.parametrize(
    ("estimator", "columns", "least"),
    [
        (LinearRegression(), 100, 340_000),
        (LinearRegression(), 1000, 34_000),
        (StandardScaler(), 100, 140_000),
        (RandomForestClassifier(500), 100, 500),
        (make_pipeline(TfidfVectorizer(), LogisticRegression()), 1, 12_460),
    ],
)
def test_the_boundary_is_where_the_cpu_takes_a_second(estimator, columns, least) -> None:
    assert advise(estimator, int(least * 0.98), columns).name == "cpu"
    assert advise(estimator, int(least * 1.02), columns).name == "cuda"


MEASURED = {
    "texts": gpu_rules.TEXTS,
    "least squares": gpu_rules.LEAST_SQUARES,
    "logistic regression": gpu_rules.QUASI_NEWTON,
    "boosting": gpu_rules.BOOSTING,
    "neighbours": gpu_rules.NEIGHBORS,
    "k-means": gpu_rules.CLUSTERS,
    "kernels": gpu_rules.KERNELS,
    "embeddings": gpu_rules.MAPS,
    "components": gpu_rules.COMPONENTS,
    "naive Bayes": gpu_rules.NAIVE_BAYES,
}


@pytest.mark.parametrize("family", MEASURED)
def test_the_sizes_are_those_that_were_measured_beside_a_gpu(family: str) -> None:
    path = Path(__file__).parents[2] / "docs/results/gpu-proof/sizes-found.json"
    found = json.loads(path.read_text("utf-8"))["families"][family]
    assert MEASURED[family] == pytest.approx(found["cpu_second_cells"], rel=0.05)
    last = found["sizes"][-1]
    assert last["gpu"] < last["cpu"], "a GPU is slower"


def test_the_steps_add_up() -> None:
    whole = make_pipeline(StandardScaler(), LinearRegression())
    rows = next(n for n in range(10**5, 10**8, 10**5) if advise(whole, n, 20).name == "cuda")
    assert advise(LinearRegression(), rows, 20).name == "cpu"
    assert advise(StandardScaler(), rows, 20).name == "cpu"


def test_what_runs_on_the_host_anyway_is_no_reason_for_a_gpu() -> None:
    found = advise(HistGradientBoostingClassifier(), MANY, 100)
    assert found == Choice("cpu", "none of its steps is supported on the GPU")
    assert advise(LabelEncoder(), MANY, 1).name == "cpu"


def test_a_refused_step_is_no_reason_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = make_pipeline(StandardScaler(), RandomForestClassifier())
    assert advise(estimator, 300_000, 10).name == "cuda"
    reason = Reason("randomforestclassifier", "a reason", "")
    rows = RowSpec("cuda")
    refused = Op(reason.step, estimator[-1], "scikit-learn", rows, rows, reasons=(reason,))
    monkeypatch.setattr(choose, "compile", lambda estimator, spec: refused)
    found = advise(estimator, 300_000, 10)
    assert found.name == "cpu"
    assert found.why == f"too small for a GPU without the steps that it cannot run: {reason}"


def test_what_does_not_fit_into_the_gpu_stays_on_the_cpu() -> None:
    found = advise(LinearRegression(), 10**8, 20, 2**34)
    assert found.name == "cpu"
    assert found.why == "it would need about 22.4 GiB (estimated), but the GPU has 16.0 GiB"
    assert advise(LinearRegression(), 10**8, 20, 2**36).name == "cuda"


SMALL = "0.0% of the smallest size that is worth a GPU (estimated)"
ZEROS = np.zeros((100, 3))


class OnGpu:
    __module__ = "cupy"


@pytest.mark.usefixtures("one_gpu")
@pytest.mark.parametrize(
    ("device", "X", "name", "why"),
    [
        ("auto", ZEROS, "cpu", f"100 rows × 3 columns: {SMALL}"),
        ("auto", pd.DataFrame({"a": np.zeros(100)}), "cpu", f"100 rows × 1 columns: {SMALL}"),
        ("auto", [[0.0, 1.0]] * 100, "cpu", f"100 rows × 2 columns: {SMALL}"),
        (
            *("auto", np.broadcast_to(np.float32(0), (MANY // 10, 3)), "cuda"),
            "a GPU, 16.0 GiB, compute capability 9.0; 100,000,000 rows × 3",
        ),
        (
            "auto",
            OnGpu(),
            "cuda",
            "a GPU, 16.0 GiB, compute capability 9.0; the table is already on",
        ),
        (
            *("auto", dataframe.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=2)),
            *("cuda", "a GPU, 16.0 GiB, compute capability 9.0; the number of rows is not"),
        ),
        ("cuda", ZEROS, "cuda", "a GPU, 16.0 GiB, compute capability 9.0"),
        ("cpu", ZEROS, "cpu", 'device="cpu" was requested'),
    ],
    ids=["array", "frame", "lists", "large", "on a GPU", "partitions", "asked", "refused"],
)
def test_beside_a_gpu_the_size_decides_where_auto_is_asked_for(device, X, name, why) -> None:
    found = choose_for(device, LinearRegression(), X)
    assert found.name == name
    assert found.why.startswith(why)


def test_without_a_gpu_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "obstacle", lambda: "no driver")
    X = np.zeros((100, 3))
    assert choose_for("auto", LinearRegression(), X) == Choice("cpu", "no usable GPU: no driver")
    assert choose_by_size(Choice("cpu", "so"), LinearRegression(), 1, 1) == Choice("cpu", "so")
    with pytest.raises(DeviceUnavailable):
        choose_for("cuda", LinearRegression(), X)


@pytest.mark.parametrize(
    ("estimator", "columns"), [(LinearRegression(), 100), (TfidfVectorizer(), 1)]
)
def test_explain_says_from_which_size_on_the_gpu_is_taken(estimator: Any, columns: int) -> None:
    told = explain(estimator).advice
    assert str(explain(estimator)).splitlines()[-1] == told
    rows = int(told.partition("from about ")[2].partition(" ")[0].replace(",", ""))
    assert advise(estimator, int(rows * 0.9), columns).name == "cpu"
    assert advise(estimator, int(rows * 1.1), columns).name == "cuda"
    assert explain(estimator, "cpu").advice == ""


def test_many_small_batches_are_for_the_cpu() -> None:
    assert advise(IncrementalPCA(5), MANY, 20).name == "cpu"
    assert advise(PCA(5), MANY, 20).name == "cuda"


@pytest.mark.parametrize(
    ("choice", "device", "logged", "warned"),
    [
        (Choice("cuda", "a GPU"), "cuda", ["pca: ran on the CPU; no rule"], 0),
        (Choice("cpu", "tiny", "small"), "auto", ["pca: ran on the CPU; tiny"], 0),
        (Choice("cpu", "too large", "unfit"), "auto", ["pca: ran on the CPU; too large"], 1),
        (Choice("cuda", "a GPU"), "auto", ["pca: ran on the CPU; no rule"], 1),
        (Choice("cpu", "no usable GPU: none"), "auto", [], 0),
    ],
    ids=["asked for", "small", "unfit", "nothing left", "no GPU"],
)
def test_fallbacks_are_logged_and_a_fit_without_the_gpu_warns_once(
    caplog: pytest.LogCaptureFixture, choice: Choice, device: str, logged: list[str], warned: int
) -> None:
    caplog.set_level("INFO", "pipeline")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ran = [Placement("pca", "sklearn.PCA", "cpu", "no rule")]
        report_fallbacks(device, choice, SimpleNamespace(placements=ran))
    assert [each.getMessage() for each in caplog.records] == logged
    assert len(caught) == warned
