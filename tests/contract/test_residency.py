"""What crosses between host and device: the input once, small state, predictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import FastICA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from pipeline import Accelerated
from pipeline.errors import BudgetExceeded
from pipeline.trace import Event
from tests.contract.cases import CLASSIFIERS, ROWS, table, target
from tests.contract.recorder import RECORDER, Recorder

LOGISTIC = CLASSIFIERS["logistic"].estimator
STATE = 20_000
"""Bytes that the state of the program may take: some 60 categories, 5 folds, 8 bytes each."""
MANY, CATEGORIES = 250_000, 4_000
"""Rows and categories like those of a year of flights and the tail numbers of the planes."""


class Trip(NamedTuple):
    """What one call moved: as the log books it, and as the stand-ins saw it."""

    entries: list[Event]
    booked: int
    seen: int
    scalars: int


def fit(n_rows: int) -> tuple[Accelerated, Trip]:
    X = table(n_rows)
    RECORDER.clear()
    model = Accelerated(clone(LOGISTIC), device="cuda").fit(X, target(X))
    return model, trip(model.execution_log_.entries)


def predict(model: Accelerated, n_rows: int) -> Trip:
    """Return the moves of the prediction: the log's entries after those of two fitted steps."""
    RECORDER.clear()
    model.predict_proba(table(n_rows))
    return trip(model.execution_log_.entries[3:])


def trip(entries: list[Event]) -> Trip:
    return Trip(
        entries,
        sum(entry.to_host_bytes for entry in entries),
        RECORDER.nbytes("host", "explicit"),
        RECORDER.scalars(),
    )


def test_input_is_copied_to_the_device_once(device: Recorder) -> None:
    model, fitted = fit(ROWS)
    copies = [entry for entry in fitted.entries if entry.call == "copy"]
    assert [(entry.step, entry.device) for entry in copies] == [("input", "cuda")]
    assert copies[0].to_device_bytes == table().memory_usage(index=False).sum()
    assert sum(call.name == "from_pandas" for call in device.calls) == 1


def test_every_step_runs_on_the_device(device: Recorder) -> None:
    model, fitted = fit(ROWS)
    assert {entry.device for entry in fitted.entries} == {"cuda"}
    assert {placement.device for placement in model.plan_.placements} == {"cuda"}


@pytest.mark.parametrize("n_rows", [ROWS, 4 * ROWS])
def test_ledger_books_every_copy_to_the_host(n_rows: int, device: Recorder) -> None:
    model, fitted = fit(n_rows)
    assert fitted.booked == fitted.seen > 0
    predicted = predict(model, n_rows)
    assert predicted.booked == predicted.seen > 0


def test_state_that_comes_back_does_not_grow_with_the_rows(device: Recorder) -> None:
    _, small = fit(ROWS)
    _, large = fit(4 * ROWS)
    assert small.booked == large.booked < STATE
    assert small.scalars == large.scalars


def test_single_values_read_from_the_device_are_few(device: Recorder) -> None:
    model, fitted = fit(ROWS)
    n_columns = table().shape[1]
    assert fitted.scalars <= 4 * n_columns
    assert predict(model, ROWS).scalars <= 4 * n_columns


def test_only_predictions_grow_with_the_rows(device: Recorder) -> None:
    model, _ = fit(ROWS)
    small, large = predict(model, ROWS), predict(model, 4 * ROWS)
    for moved, n_rows in ((small, ROWS), (large, 4 * ROWS)):
        output = moved.entries[-1]
        assert (output.step, output.device) == ("output", "cpu")
        assert output.to_host_bytes == n_rows * 2 * np.dtype("float32").itemsize
    assert small.booked - small.entries[-1].to_host_bytes == (
        large.booked - large.entries[-1].to_host_bytes
    )
    assert small.scalars == large.scalars


def test_ledger_books_every_copy_to_the_device(device: Recorder) -> None:
    model, fitted = fit(ROWS)
    booked = sum(entry.to_device_bytes for entry in fitted.entries)
    assert booked == device.nbytes("device")


def test_the_queue_is_drained_before_a_step_is_timed(device: Recorder) -> None:
    model, fitted = fit(ROWS)
    steps = [entry for entry in fitted.entries if entry.call != "copy"]
    assert sum(call.name == "synchronize" for call in device.calls) == len(steps) == 2


def test_a_strict_program_keeps_a_budget_of_nothing(device: Recorder) -> None:
    X = table()
    model = Accelerated(clone(LOGISTIC), device="cuda", host_bytes=0).fit(X, target(X))
    assert len(model.predict_proba(X)) == ROWS


@pytest.fixture(scope="module")
def many() -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of many rows with two columns of many categories, and a target."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, CATEGORIES, (MANY, 2))
    X = pd.DataFrame(
        {"tail": pd.Series(codes[:, 0].astype(str), dtype="str"), "flight": codes[:, 1]}
    )
    return X, rng.integers(0, 2, MANY)


@pytest.mark.parametrize(
    "estimator",
    [
        OneHotEncoder(max_categories=9),
        OrdinalEncoder(),
        TargetEncoder(cv=StratifiedKFold(5, shuffle=True, random_state=0)),
        TargetEncoder(cv=KFold(5), target_type="continuous"),
    ],
    ids=str,
)
def test_many_categories_are_no_rows_to_a_budget_of_nothing(
    estimator: Any, many: tuple[pd.DataFrame, np.ndarray], device: Recorder
) -> None:
    X, y = many
    whole = make_column_transformer((estimator, ["tail", "flight"]))
    model = Accelerated(whole, device="cuda", host_bytes=0).fit(X, y)
    assert model.execution_log_.to_host_bytes > CATEGORIES * 8
    few = model.execution_log_.to_host_bytes
    model = Accelerated(whole, device="cuda", host_bytes=0).fit(X[: MANY // 2], y[: MANY // 2])
    assert abs(model.execution_log_.to_host_bytes - few) <= 0.001 * few


@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_encoders_with_the_same_folds_bring_them_once(
    kind: str, many: tuple[pd.DataFrame, np.ndarray], device: Recorder
) -> None:
    X, y = many
    brought = []
    for parts in ([["tail", "flight"]], [["tail"], ["flight"]]):
        encoders = [(TargetEncoder(target_type=kind, random_state=0), names) for names in parts]
        device.clear()
        Accelerated(make_column_transformer(*encoders), device="cuda").fit(X, y)
        # A byte a row for the folds, and one for class and fold or eight for the target.
        brought.append([c.nbytes // MANY for c in device.copies if c.to == "device"])
    small = [row for row in brought[0] if row]
    assert small[-2:] == [1, 1 if kind == "binary" else 8]
    assert [row for row in brought[1] if row] == small


def test_a_step_on_the_host_breaks_the_budget_before_it_copies(device: Recorder) -> None:
    X = table(100 * ROWS)
    estimator = make_pipeline(StandardScaler(), FastICA(random_state=0), LogisticRegression())
    model = Accelerated(estimator, device="cuda", fallback=True, host_bytes=0)
    with pytest.raises(BudgetExceeded, match=r"^fastica: copy would .*FastICA has no rule"):
        model.fit(X[["count", "amount"]].fillna(0), target(X))
    assert device.nbytes("host", "explicit") < STATE
    model.set_params(host_bytes=10**9).fit(X[["count", "amount"]].fillna(0), target(X))
    moved = [e for e in model.execution_log_.entries if e.to_host_bytes > STATE]
    assert [(entry.step, entry.call) for entry in moved] == [("fastica", "copy")]
    assert "FastICA has no rule" in moved[0].why
