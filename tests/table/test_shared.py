"""Searches of scikit-learn take a handle of rows in the place of the table, and find the same."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    ShuffleSplit,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from pipeline import Accelerated, ConfigError, DataError
from pipeline.table.shared import SharedRows, shared

C = "estimator__logisticregression__C"
SPACE = {C: [0.1, 1, 10]}
RANDOM = np.random.default_rng(0)
N_ROWS = 240
FRAME = pd.DataFrame(
    {
        "a": RANDOM.normal(size=N_ROWS),
        "b": RANDOM.normal(size=N_ROWS),
        "kind": RANDOM.choice(list("xyz"), N_ROWS),
    }
)
Y = (FRAME["a"] + 0.3 * FRAME["b"] + RANDOM.normal(size=N_ROWS) > 0).astype(int).to_numpy()
NUMBERS = FRAME[["a", "b"]].to_numpy()
TABLES = {
    "pandas": FRAME,
    "numpy": NUMBERS,
    "sparse": sp.csc_array(NUMBERS),
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME),
}


def model(table: str) -> Accelerated:
    encoded = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["kind"]))
    first = {"numpy": StandardScaler(), "sparse": MaxAbsScaler()}.get(table, encoded)
    return Accelerated(make_pipeline(first, LogisticRegression()), device="cpu")


def scores(search):
    return lambda m, X: search(m, X).fit(X, Y).cv_results_["mean_test_score"]


def split(m, X):
    X_train, X_test, y_train, y_test = train_test_split(X, Y, random_state=0, stratify=Y)
    return m.fit(X_train, y_train).score(X_test, y_test)


ASKED = {
    "grid": scores(lambda m, X: GridSearchCV(m, SPACE, cv=3, return_train_score=True)),
    "random": scores(lambda m, X: RandomizedSearchCV(m, SPACE, n_iter=2, random_state=0, cv=3)),
    "halving": scores(lambda m, X: HalvingGridSearchCV(m, SPACE, cv=3, random_state=0)),
    "halving random": scores(
        lambda m, X: HalvingRandomSearchCV(m, SPACE, cv=3, n_candidates=3, random_state=0)
    ),
    "nested": lambda m, X: cross_val_score(GridSearchCV(m, SPACE, cv=3), X, Y, cv=3),
    "cross_val_predict": lambda m, X: cross_val_predict(m, X, Y, cv=3, method="predict_proba"),
    "cross_val_score": lambda m, X: cross_val_score(m, X, Y, cv=ShuffleSplit(3, random_state=0)),
    "cross_validate": lambda m, X: cross_validate(m, X, Y, cv=3)["test_score"],
    "learning_curve": lambda m, X: learning_curve(m, X, Y, cv=3)[2],
    "validation_curve": lambda m, X: validation_curve(
        m, X, Y, param_name=C, param_range=[0.1, 1], cv=3
    )[1],
    "permutation_test_score": lambda m, X: permutation_test_score(
        m, X, Y, n_permutations=2, random_state=0
    )[1],
    "train_test_split": split,
    "calibrated": lambda m, X: CalibratedClassifierCV(m, cv=3).fit(X, Y).predict_proba(X),
    "threshold": lambda m, X: TunedThresholdClassifierCV(m, cv=3).fit(X, Y).best_threshold_,
    "stacking": lambda m, X: StackingClassifier([("m", m)], cv=3).fit(X, Y).predict_proba(X),
    "voting": lambda m, X: VotingClassifier([("m", m)], voting="soft").fit(X, Y).predict_proba(X),
    "fit": lambda m, X: m.fit(X, Y).predict_proba(X),
}


@pytest.mark.quick(2)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("table", TABLES)
def test_what_is_found_is_what_the_table_gives(table: str, asked: str) -> None:
    X, work = TABLES[table], ASKED[asked]
    assert np.array_equal(work(model(table), shared(X)), work(model(table), X))


@pytest.mark.parametrize("table", ["pandas", "numpy"])
def test_columns_can_be_permuted(table: str) -> None:
    X, fitted = TABLES[table], model(table).fit(TABLES[table], Y)
    asked = {"n_repeats": 2, "random_state": 0}
    found = permutation_importance(fitted, shared(X), Y, **asked)
    assert np.array_equal(
        found.importances, permutation_importance(fitted, X, Y, **asked).importances
    )


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.slow
def test_several_processes_find_the_same(table: str) -> None:
    search = GridSearchCV(model(table), SPACE, cv=3, n_jobs=2)
    found = search.fit(shared(TABLES[table]), Y).cv_results_["mean_test_score"]
    assert np.array_equal(found, search.fit(TABLES[table], Y).cv_results_["mean_test_score"])


def test_rows_are_chosen_as_an_array_chooses_them() -> None:
    rows = shared(FRAME)
    for key in (slice(5, 50, 3), np.arange(30) * 2, [7, 1, 1], Y == 1, -np.arange(1, 5)):
        chosen = rows[key]
        assert isinstance(chosen, SharedRows)
        pd.testing.assert_frame_equal(chosen.rows(), FRAME.iloc[np.arange(N_ROWS)[key]])
        again = chosen[::2]
        pd.testing.assert_frame_equal(again.rows(), FRAME.iloc[np.arange(N_ROWS)[key][::2]])
        assert (len(chosen), chosen.shape) == (len(chosen.rows()), chosen.rows().shape)
        assert chosen.index.equals(chosen.rows().index)
    assert rows["a"].equals(FRAME["a"])
    assert rows[["a"]].equals(FRAME[["a"]])
    assert list(rows.columns) == list(FRAME.columns)
    assert rows.iloc[3:5, 0].equals(FRAME.iloc[3:5, 0])
    assert np.array_equal(np.asarray(shared(NUMBERS)[3:5]), NUMBERS[3:5])


def test_rows_have_a_key_in_common_only_if_they_are_the_same() -> None:
    rows = shared(FRAME)
    assert rows[:50].key == rows[np.arange(50)].key == rows[:100][:50].key
    others = [rows[:51], rows[1:51], rows[np.arange(50)[::-1]], shared(FRAME)[:50]]
    assert len({rows[:50].key, *(each.key for each in others)}) == 5


def test_another_process_reads_the_table_from_a_file_that_goes_with_it() -> None:
    rows = shared(FRAME, room_bytes=1000)
    text = pickle.dumps(rows[:5])
    assert len(text) < 2000
    file = Path(rows.table.file)
    assert file.exists()
    assert file.parent.stat().st_mode & 0o077 == 0, "nobody else opens it"
    here = pickle.loads(text)
    assert here.table is rows.table
    assert copy.deepcopy(rows).table is rows.table
    del here, rows
    gc.collect()
    assert not file.exists()
    with pytest.raises(DataError, match="was removed, or is on another machine; pass X"):
        pickle.loads(text)


def test_the_room_on_a_device_is_a_part_of_its_memory(monkeypatch) -> None:
    found = SimpleNamespace(devices=[SimpleNamespace(memory_bytes=4_000)])
    monkeypatch.setattr("pipeline.table.shared.gpu.probe", lambda: found)
    table = shared(FRAME).table
    assert table.cache("cuda").room_bytes == 1_000 < table.cache("cpu").room_bytes
    assert shared(FRAME, room_bytes=7).table.cache("cuda").room_bytes == 7


@pytest.mark.parametrize(
    ("X", "why"),
    [([[1.0]], "is a list"), ({"a": [1]}, "is a dict"), ("file.csv", "is a str")],
)
def test_what_is_no_table_is_refused(X, why) -> None:
    with pytest.raises(ConfigError, match=f"X {why}; pass a frame, an array"):
        shared(X)


def test_partitions_and_a_room_of_less_than_nothing_are_refused() -> None:
    da = pytest.importorskip("dask.array")
    with pytest.raises(ConfigError, match="X is partitioned"):
        shared(da.ones((4, 2), chunks=(2, 2)))
    with pytest.raises(ConfigError, match="room_bytes=-1 is negative"):
        shared(FRAME, room_bytes=-1)


def test_a_handle_of_a_handle_is_itself() -> None:
    rows = shared(FRAME)
    assert shared(rows) is rows
