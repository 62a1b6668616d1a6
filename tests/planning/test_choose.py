from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from dask import dataframe
from msgspec.structs import replace
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler

from pipeline import Accelerated, explain
from pipeline.errors import ConfigError, DeviceUnavailable
from pipeline.planning import choose as advice
from pipeline.planning import choose as thresholds
from pipeline.planning.choose import advise, choose, of_size, sizes
from pipeline.system import devices, gpu
from pipeline.system.devices import Choice
from tests.planning.test_thresholds import measured

MANY = 10**9
GPU = gpu.Device("a GPU", 2**34, (9, 0))


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "obstacle", lambda: "")
    monkeypatch.setattr(gpu, "probe", lambda: gpu.Probe("590.44", "13.0", (GPU,)))


@pytest.fixture
def measured_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the GPU be slower at the two smaller sizes, and faster from ten seconds on."""
    cpu = measured((10, 0.1), (100, 1.0), (1000, 10.0))
    on_gpu = measured((10, 2.0), (100, 2.0), (1000, 2.0))
    known = thresholds.cost_model()
    families = [replace(family, cpu=cpu, gpu=on_gpu) for family in known.families]
    monkeypatch.setattr(thresholds, "cost_model", lambda: replace(known, families=families))


@pytest.mark.parametrize("estimator", [LogisticRegression(), StandardScaler(), KMeans()])
def test_small_jobs_stay_on_the_cpu_and_large_ones_do_not(estimator) -> None:
    assert advise(estimator, 100, 10).device == "cpu"
    assert advise(estimator, MANY, 10).device == "cuda"


def test_the_reason_names_the_time_and_the_source_of_each_figure() -> None:
    cpu = thresholds.cost_model().family("logistic").cpu
    assert re.fullmatch(
        rf"about [\d.]+ s( or less)? on the CPU \({re.escape(cpu.source)}\); "
        r"a GPU is taken from 1 s \(assumed\)",
        advise(LogisticRegression(), 100, 10).why,
    )


def test_nothing_is_called_measured_that_is_not() -> None:
    assert "(assumed)" in advise(LogisticRegression(), MANY, 10).why
    assert sizes(LogisticRegression()).endswith("; a GPU is taken from 1 s, assumed)")


@pytest.mark.usefixtures("measured_gpu")
def test_measured_thresholds_are_used_and_named() -> None:
    assert advise(LogisticRegression(), 500, 8).device == "cpu"
    large = advise(LogisticRegression(), 2000, 8)
    assert large.device == "cuda"
    assert "a GPU is taken from 10 s (measured on a machine, 2026-11-21)" in large.why


def test_one_assumption_makes_the_sum_an_assumption(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = measured((10, 0.1), (100, 1.0), (1000, 10.0))
    known = thresholds.cost_model()
    families = [
        replace(family, cpu=cpu, gpu=cpu) if family.name == "least squares" else family
        for family in known.families
    ]
    monkeypatch.setattr(thresholds, "cost_model", lambda: replace(known, families=families))
    assert "(assumed)" not in advise(LinearRegression(), 10, 8).why
    assert "(assumed)" in advise(make_pipeline(StandardScaler(), LinearRegression()), 10, 8).why


def test_where_the_cpu_always_won_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, on_gpu = measured((1, 1), (2, 2), (3, 3)), measured((1, 9), (2, 9), (3, 9))
    known = thresholds.cost_model()
    families = [replace(family, cpu=cpu, gpu=on_gpu) for family in known.families]
    monkeypatch.setattr(thresholds, "cost_model", lambda: replace(known, families=families))
    found = advise(LogisticRegression(), MANY, 10)
    assert found.device == "cpu"
    assert "the GPU was slower at every size" in found.why
    assert sizes(LogisticRegression()) == "auto: the CPU, whatever the size"


def test_more_columns_need_fewer_rows() -> None:
    estimator = LinearRegression()
    rows = next(n for n in (10**k for k in range(10)) if advise(estimator, n, 10).device == "cuda")
    assert advise(estimator, rows // 10, 10).device == "cpu"
    assert advise(estimator, rows // 10, 1000).device == "cuda"


def test_the_steps_add_up() -> None:
    whole = make_pipeline(StandardScaler(), LinearRegression())
    rows = next(n for n in range(10**5, 10**8, 10**5) if advise(whole, n, 20).device == "cuda")
    assert advise(LinearRegression(), rows, 20).device == "cpu"
    assert advise(StandardScaler(), rows, 20).device == "cpu"


def test_what_runs_on_the_host_anyway_is_no_reason_for_a_gpu() -> None:
    found = advise(HistGradientBoostingClassifier(), MANY, 100)
    assert found == advice.Advice("cpu", "none of its steps has a rule for the GPU")
    assert advise(LabelEncoder(), MANY, 1).device == "cpu"


def test_a_refused_step_is_no_reason_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = make_pipeline(StandardScaler(), RandomForestClassifier())
    assert advise(estimator, 300_000, 10).device == "cuda"
    refused = [("randomforestclassifier", estimator[-1], ["a reason"])]
    monkeypatch.setattr(advice, "walk", lambda estimator, device: refused)
    found = advise(estimator, 300_000, 10)
    assert found.device == "cpu"
    assert found.why == "too little is left for a GPU, which cannot run it all: a reason"


def test_many_small_batches_are_for_the_cpu() -> None:
    small = advise(IncrementalPCA(5), MANY, 20)
    assert small.device == "cpu"
    assert "incrementalpca: 10,000,000 batches take a GPU at least 3 h (assumed)" in small.why
    assert "a larger batch_size" in small.why
    assert advise(IncrementalPCA(5, batch_size=MANY // 10), MANY, 20).device == "cuda"
    assert advise(PCA(5), MANY, 20).device == "cuda"


def test_what_does_not_fit_into_the_gpu_stays_on_the_cpu() -> None:
    rows = 100_000
    assert advise(KernelRidge(), rows, 10).device == "cuda"
    found = advise(KernelRidge(), rows, 10, 2**34)
    assert found.device == "cpu"
    assert found.why == "would need about 74.5 GiB (assumed) and the GPU has 16.0 GiB"
    assert advise(KernelRidge(), rows, 10, 2**40).device == "cuda"


def test_texts_are_counted_and_not_their_columns() -> None:
    estimator = make_pipeline(TfidfVectorizer(), LogisticRegression())
    assert advise(estimator, 100, 1).device == "cpu"
    assert advise(estimator, 10**6, 1).device == "cuda"
    assert " texts; else the CPU" in sizes(estimator)


def test_the_sizes_are_those_that_the_decision_takes() -> None:
    told = sizes(LinearRegression())
    rows = int(told.partition("from about ")[2].partition(" ")[0].replace(",", ""))
    assert advise(LinearRegression(), int(rows * 0.9), 10).device == "cpu"
    assert advise(LinearRegression(), int(rows * 1.1), 10).device == "cuda"
    assert " rows of 10 columns, " in told
    assert " of 1,000; else the CPU" in told


@pytest.mark.usefixtures("one_gpu")
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((100, 3)),
        pd.DataFrame({"a": np.zeros(100)}),
        [[0.0, 1.0]] * 100,
    ],
    ids=["array", "frame", "lists"],
)
def test_a_small_table_stays_on_the_cpu_beside_a_gpu(X) -> None:
    found = choose("auto", LinearRegression(), X)
    assert found.name == "cpu"
    columns = len(X[0]) if isinstance(X, list) else X.shape[1]
    assert found.why.startswith(f"100 rows × {columns} columns: about 0.01 s or less on the CPU")


@pytest.mark.usefixtures("one_gpu")
def test_a_large_table_goes_to_the_gpu_which_is_named() -> None:
    large = np.broadcast_to(np.float32(0), (MANY // 10, 3))
    found = choose("auto", LinearRegression(), large)
    assert found.name == "cuda"
    assert found.why.startswith("a GPU, 16.0 GiB, compute capability 9.0; 100,000,000 rows × 3")


@pytest.mark.usefixtures("one_gpu")
def test_what_was_asked_for_is_not_judged() -> None:
    X = np.zeros((100, 3))
    assert choose("cuda", LinearRegression(), X).name == "cuda"
    assert choose("cpu", LinearRegression(), X).why == 'device="cpu" was asked for'


@pytest.mark.usefixtures("one_gpu")
def test_a_table_on_a_gpu_stays_there() -> None:
    class OnGpu:
        __module__ = "cupy"

    found = choose("auto", LinearRegression(), OnGpu())
    assert found.name == "cuda"
    assert found.why.endswith("; the table is on a GPU already")


@pytest.mark.usefixtures("one_gpu")
def test_partitions_are_not_counted() -> None:
    X = dataframe.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=2)
    found = choose("auto", StandardScaler(), X)
    assert found.name == "cuda"
    assert found.why.endswith("; how many rows there are is not known beforehand")


@pytest.mark.usefixtures("one_gpu")
def test_an_invalid_spec_is_refused_before_it_is_judged() -> None:
    with pytest.raises(ConfigError, match="C"):
        choose("auto", LogisticRegression(C=-1), np.zeros((100, 3)))


def test_without_a_gpu_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "obstacle", lambda: "no driver")
    X = np.zeros((100, 3))
    assert choose("auto", LinearRegression(), X) == Choice("cpu", "no usable GPU: no driver")
    assert of_size(Choice("cpu", "so"), LinearRegression(), 1, 1) == Choice("cpu", "so")
    with pytest.raises(DeviceUnavailable):
        choose("cuda", LinearRegression(), X)


def test_explain_says_which_sizes_would_go_where() -> None:
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    explained = explain(estimator)
    assert explained.advice == sizes(estimator)
    assert str(explained).splitlines()[-1] == sizes(estimator)
    assert explained.to_dict()["advice"] == sizes(estimator)
    assert sizes(estimator) in explained.to_html()
    assert explain(estimator, "cpu").advice == ""
    assert "auto" not in str(explain(estimator, "cpu"))


@pytest.mark.usefixtures("one_gpu")
def test_the_model_keeps_the_reason() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = Accelerated(LinearRegression()).fit(X, X[:, 0])
    assert model.device_ == "cpu"
    assert "a GPU is taken from 1 s (assumed)" in model.device_why_
