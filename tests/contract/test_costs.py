"""What crosses between host and device, how often the host waits, and the bytes at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import FastICA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline import Accelerated
from pipeline.backends.cuml.multi_gpu import has_missing
from pipeline.compile.program import Program
from pipeline.errors import BudgetExceeded
from pipeline.table import frames
from pipeline.trace import ANSWER
from tests.contract import memory
from tests.contract.cases import CLASSIFIERS, EVERYWHERE, ROWS, folds, table, target
from tests.contract.recorder import RECORDER, Recorder
from tests.names import one_in

pytestmark = pytest.mark.usefixtures("device")

LOGISTIC = CLASSIFIERS["logistic"].estimator
STATE = 20_000
"""Bytes that the state of the program may take: some 60 categories, 5 folds, 8 bytes each."""
MANY, CATEGORIES = 250_000, 4_000
"""Rows and categories like those of a year of flights and the tail numbers of the planes."""


def test_every_copy_is_booked_and_only_predictions_grow_with_the_rows(device: Recorder) -> None:
    learnt, predicted = [], []
    for n_rows in (ROWS, 4 * ROWS):
        X = table(n_rows)
        device.clear()
        model = Accelerated(clone(LOGISTIC), device="cuda").fit(X, target(X))
        log = model.execution_log_
        assert {entry.device for entry in log.entries} == {"cuda"}
        (copy,) = (entry for entry in log.entries if entry.call == "copy")
        assert copy.step == "input"
        assert copy.to_device_bytes == X.memory_usage(index=False).sum()
        assert sum(entry.to_device_bytes for entry in log.entries) == device.nbytes("device")
        assert 0 < log.to_host_bytes == device.nbytes("host", "explicit") < STATE
        names = [call.name for call in device.calls]
        assert names.count("from_pandas") == 1
        # The queue is drained before each of the two steps is timed.
        assert names.count("synchronize") == len(log.entries) - 1 == 2
        learnt.append((log.to_host_bytes, device.scalars()))
        device.clear()
        model.predict_proba(X)
        asked = model.execution_log_.entries[3:]
        booked = sum(entry.to_host_bytes for entry in asked)
        assert booked == device.nbytes("host", "explicit")
        assert (asked[-1].step, asked[-1].device) == ("output", "cpu")
        assert asked[-1].to_host_bytes == n_rows * 2 * np.dtype("float32").itemsize
        predicted.append((booked - asked[-1].to_host_bytes, device.scalars()))
    for few, many_more in (learnt, predicted):
        assert few == many_more
        assert few[1] <= 4 * table().shape[1]


@pytest.fixture(scope="module")
def many() -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of many rows with two columns of many categories, and a target."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, CATEGORIES, (MANY, 2))
    tail = pd.Series(codes[:, 0].astype(str), dtype="str")
    return pd.DataFrame({"tail": tail, "flight": codes[:, 1]}), rng.integers(0, 2, MANY)


@EVERYWHERE
@pytest.mark.parametrize(
    "estimator",
    [OneHotEncoder(max_categories=9), OrdinalEncoder(), TargetEncoder(cv=folds())],
    ids=str,
)
def test_many_categories_are_no_rows_to_a_budget_of_nothing(
    estimator: Any, many: tuple[pd.DataFrame, np.ndarray]
) -> None:
    X, y = many
    whole = make_column_transformer((estimator, ["tail", "flight"]))
    brought = [
        Accelerated(whole, device="cuda", host_bytes=0)
        .fit(X[:n], y[:n])
        .execution_log_.to_host_bytes
        for n in (MANY, MANY // 2)
    ]
    assert brought[0] > CATEGORIES * 8
    assert abs(brought[0] - brought[1]) <= 0.001 * brought[0]


@pytest.mark.parametrize(
    ("estimator", "call"),
    [(StandardScaler(), "fit_transform"), (KMeans(2, random_state=0), "fit_predict")],
    ids=str,
)
def test_what_a_fit_returns_is_booked(estimator: Any, call: str, device: Recorder) -> None:
    X = np.random.default_rng(0).normal(size=(100 * ROWS, 3))
    model = Accelerated(estimator, device="cuda", host_bytes=0)
    made = getattr(model, call)(X)
    answer, log = model.execution_log_.entries[-1], model.execution_log_
    assert (answer.step, answer.why, answer.to_host_bytes) == ("output", ANSWER, made.nbytes)
    assert log.to_host_bytes == device.nbytes("host", "explicit")


def test_a_step_on_the_host_breaks_the_budget_before_it_copies(device: Recorder) -> None:
    X = table(100 * ROWS)
    estimator = make_pipeline(StandardScaler(), FastICA(random_state=0), LogisticRegression())
    model = Accelerated(estimator, device="cuda", fallback=True, host_bytes=0)
    with pytest.raises(BudgetExceeded, match=r"^fastica: copy would .*FastICA is not supported"):
        model.fit(X[["count", "amount"]].fillna(0), target(X))
    assert device.nbytes("host", "explicit") < STATE
    model.set_params(host_bytes=10**9).fit(X[["count", "amount"]].fillna(0), target(X))
    moved = [e for e in model.execution_log_.entries if e.to_host_bytes > STATE]
    assert [(entry.step, entry.call) for entry in moved] == [("fastica", "copy")]
    assert "FastICA is not supported" in moved[0].why


def test_a_fit_logs_what_ran_on_the_host(
    device: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "pipeline")
    X = table()
    estimator = make_pipeline(StandardScaler(), FastICA(random_state=0), LogisticRegression())
    model = Accelerated(estimator, device="cuda", fallback=True)
    model.fit(X[["count", "amount"]].fillna(0), target(X))
    (logged,) = caplog.records
    why = "on the host: FastICA is not supported on the GPU"
    assert (logged.name, logged.levelname) == ("pipeline", "INFO")
    assert logged.getMessage() == f"fastica: ran on the CPU; {why}"


def test_auto_warns_once_where_no_step_ran_on_the_gpu(device: Recorder) -> None:
    X = table()
    model = Accelerated(HistGradientBoostingClassifier(max_iter=2))
    with pytest.warns(UserWarning, match="^device='auto': all steps ran on the CPU; ") as caught:
        model.fit(X[["count", "amount"]], target(X))
    (warned,) = caught
    assert str(warned.message).endswith(": none of its steps is supported on the GPU")
    assert warned.filename == __file__


SHORT, FEW, MORE = 300, 3, 9
OF_NUMBERS = [
    KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"),
    QuantileTransformer(n_quantiles=20),
    SelectKBest(f_classif, k=2),
    SimpleImputer(strategy="median"),
    VarianceThreshold(),
    make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), MinMaxScaler()),
]
OF_CATEGORIES = [
    OneHotEncoder(drop="first", handle_unknown="ignore"),
    OrdinalEncoder(),
    SimpleImputer(strategy="most_frequent"),
    TargetEncoder(cv=folds()),
]


SCORES = [(f_classif, "yes and no"), (f_classif, "numbers"), (f_regression, "")]


@pytest.mark.parametrize(("score", "kind"), SCORES)
def test_no_rows_come_back_for_the_scores_of_columns(
    score: Any, kind: str, device: Recorder
) -> None:
    X = np.abs(np.random.default_rng(0).normal(size=(100 * ROWS, 3)))
    y: Any = (X[:, 0] + X[:, 1] ** 2 > 1.5).astype("int64")
    y = {"yes and no": np.where(y, "yes", "no"), "numbers": y + 3}.get(kind, X[:, 0] * 3 + X[:, 1])
    model = Accelerated(SelectKBest(score, k=2), device="cuda", dtype="float64", host_bytes=0)
    model.fit(frames.to_device(X, "cuda"), y)
    reference = SelectKBest(score, k=2).fit(X, y)
    np.testing.assert_allclose(model.to_sklearn().scores_, reference.scores_, rtol=1e-9)
    assert device.nbytes("host", "explicit") < STATE


def waits(estimator: Any, columns: int, *, text: bool = False) -> int:
    """Return how often the host waits while a step is fitted on a table, read once, and used."""
    values = np.random.default_rng(0).integers(0, 9, (SHORT, columns)).astype("float64")
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])
    there = frames.to_device(X.astype("str") if text else X, "cuda")
    steps = clone(estimator)
    if text and isinstance(estimator, SimpleImputer):
        steps = make_pipeline(steps, OrdinalEncoder())
    RECORDER.clear()
    Program(steps).fit_transform(there, np.arange(SHORT) % 2)
    return RECORDER.syncs()


def a_column(estimator: Any, **kind: bool) -> float:
    """Return how many more times it waits for each further column."""
    return (waits(estimator, MORE, **kind) - waits(estimator, FEW, **kind)) / (MORE - FEW)


@pytest.mark.parametrize("estimator", OF_NUMBERS, ids=str)
def test_columns_of_numbers_are_waited_for_together(estimator: Any) -> None:
    assert a_column(estimator) == 0
    assert waits(estimator, FEW) <= 8


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("estimator", OF_CATEGORIES, ids=str)
def test_columns_of_categories_are_waited_for_when_their_values_come(
    estimator: Any, text: bool
) -> None:
    assert a_column(estimator, text=text) <= 1
    assert waits(estimator, FEW, text=text) <= FEW + (8 if text else 6)


KEPT = (
    *("RobustScaler", "SelectKBest"),
    *("SimpleImputer, median", "SimpleImputer, median of a frame"),
)
"""Whose peak is a copy of the columns and one column more, however the rows are cut."""
A_BLOCK = {"SimpleImputer, most frequent": memory.COLUMNS + 2}
"""Waits for a further block: once for what is wrong in it, once for what is learnt of it."""


@pytest.mark.parametrize("name", one_in(9, memory.CASES))
def test_a_transformer_takes_no_more_than_its_bound_and_less_in_halves(name: str) -> None:
    found = memory.taken(name)
    assert round(found.peak, 2) <= max(memory.MOST, 1.5 + found.made)
    assert found.passes <= 2
    assert round(memory.a_block(name)) <= A_BLOCK.get(name, 2)
    whole, half = memory.taken(name, 4).peak, memory.taken(name, 4, halves=True).peak
    assert round(half, 2) == round(whole, 2) <= memory.MOST if name in KEPT else half < whole


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, np.nan], True),
        ([np.nan, np.inf], True),
        ([np.inf, -np.inf], False),
        ([3e38, 3e38], False),
        ([1, 2], False),
    ],
)
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_infinite_numbers_and_sums_are_not_missing(
    values: list[float], expected: bool, where: str, device: Recorder
) -> None:
    dtype = "float32" if isinstance(values[0], float) else "int64"
    X = np.array([values], dtype=dtype)
    assert has_missing(frames.to_device(X, where)) is expected
    assert has_missing(csr_matrix(X)) is expected
