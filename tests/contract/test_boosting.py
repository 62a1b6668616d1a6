"""XGBoost is asked where it trained: told to use a GPU that is not there, it merely warns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pipeline import Accelerated, DeviceUnavailable, Unsupported
from pipeline.backends.xgboost import distributed, handover, training
from pipeline.backends.xgboost import shap_values as contributions
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.optional import load
from pipeline.system.devices import obstacle
from pipeline.table import frames
from tests.contract import boosting
from tests.contract.cases import to_cudf
from tests.contract.recorder import Recorder

xgboost = pytest.importorskip("xgboost")
NO_GPU = obstacle()

pytestmark = [
    pytest.mark.skipif(not NO_GPU, reason="XGBoost would train on the GPU of this machine"),
    # What XGBoost says instead of failing; it is the subject here.
    pytest.mark.filterwarnings("ignore:.*(No visible GPU|not compiled with CUDA|Device is).*"),
]


def booster() -> xgboost.XGBClassifier:
    return xgboost.XGBClassifier(n_estimators=2, max_depth=2)


def test_training_elsewhere_is_an_error() -> None:
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(DeviceUnavailable, match="trained on 'cpu' instead of 'cuda'"):
        XGBoostModel(booster(), "cuda").fit(X, y)


@pytest.mark.parametrize(
    ("y", "place"), [(np.arange(20) % 2, "cuda"), (np.array(["a", "b"] * 10), "cpu")]
)
def test_a_target_of_numbers_goes_to_where_the_rows_are(
    device: Recorder, monkeypatch: pytest.MonkeyPatch, y: np.ndarray, place: str
) -> None:
    model, given = XGBoostModel(booster(), "cuda"), []
    monkeypatch.setattr(model, "_check_device", lambda booster: None)
    monkeypatch.setattr(model.native, "fit", lambda X, y: given.append(y))
    monkeypatch.setattr(model.native, "get_booster", lambda: None)
    model.fit(frames.to_device(np.arange(40.0).reshape(20, 2), "cuda"), y)
    assert [frames.device_of(each) for each in given] == [place]


@pytest.mark.parametrize(
    ("chosen", "where", "taken"),
    [({}, "cuda", True), ({}, "cpu", False), ({"use_rmm": True}, "cuda", False)],
    ids=str,
)
def test_the_pool_is_taken_on_a_gpu_unless_the_user_has_chosen_another(
    device: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    chosen: dict[str, bool],
    where: str,
    taken: bool,
) -> None:
    now = {"use_rmm": False, "use_cuda_async_pool": False} | chosen
    settings = SimpleNamespace(
        core=xgboost.core, get_config=lambda: now, set_config=lambda **asked: now.update(asked)
    )
    monkeypatch.setattr(training, "load", lambda name: settings)
    training.use_memory_pool(where)
    assert now["use_cuda_async_pool"] == taken
    assert load("cupy").cuda.runtime.threshold == (2**64 - 1) * taken, "what is freed is kept"


ROWS = 300
RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(RNG.normal(size=(ROWS, 2)).round(1), columns=["m", "n"])
NUMBERS["n"] = NUMBERS["n"].where(RNG.random(ROWS) < 0.7)
TEXT = NUMBERS.assign(
    **{
        name: RNG.choice([*letters, None], ROWS)
        for name, letters in [("a", "vwxyz"), ("b", "st"), ("c", "qr")]
    }
)
SIGNAL = NUMBERS["m"] + TEXT["a"].isin(["v", "x"]) + 2 * NUMBERS["n"].isna() - (TEXT["b"] == "s")
"""Depends on which cells are missing."""
CUT = 110
"""Rows before it and behind it are told from those of the table."""
STOPS = {"n_estimators": 40, "early_stopping_rounds": 3, "learning_rate": 0.9}
GIVEN = {"max_depth": 3, "enable_categorical": True}


def as_categories(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table as a user of XGBoost gives it on the CPU."""
    return X.astype(dict.fromkeys(X.columns.intersection([*"abc"]), "category"))


@pytest.fixture
def reads(device: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    boosting.install(monkeypatch)


@pytest.mark.parametrize(
    ("X", "start", "n_sets"),
    [(NUMBERS, 0, 1), (TEXT, 0, 0), (TEXT, CUT, 2)],
    ids=["judged by rows", "text", "rows of text"],
)
def test_xgboost_reads_of_a_frame_of_cudf_what_it_holds(
    reads: None, X: pd.DataFrame, start: int, n_sets: int
) -> None:
    cuts = [slice(start, None), slice(CUT, None), slice(40, CUT)]
    y = (SIGNAL > 0.5).to_numpy().astype(int)
    last = xgboost.XGBClassifier(**GIVEN, **(STOPS if n_sets else {"n_estimators": 6}))
    there, known = to_cudf(X), as_categories(X)
    ours = Accelerated(last, device="cuda")
    sets = [[(Z.iloc[cut], y[cut]) for cut in cuts[1 : 1 + n_sets]] for Z in (there, known)]
    more = [{"eval_set": pairs, "verbose": False} if n_sets else {} for pairs in sets]
    ours.fit(there.iloc[cuts[0]], y[cuts[0]], **more[0])
    plain = clone(last).fit(known.iloc[cuts[0]], y[cuts[0]], **more[1])
    wanted = plain.predict_proba(known)
    np.testing.assert_array_equal(ours.predict_proba(there), wanted)
    np.testing.assert_array_equal(ours.predict_proba(there.iloc[CUT:]), wanted[CUT:])
    lacking = np.flatnonzero(X[X.columns[-1]].isna())
    np.testing.assert_array_equal(ours.predict_proba(to_cudf(X.iloc[lacking])), wanted[lacking])
    lifted = ours.to_sklearn()
    assert getattr(lifted, "evals_result_", None) == getattr(plain, "evals_result_", None)
    np.testing.assert_array_equal(lifted.predict_proba(known), wanted)


@pytest.mark.parametrize("X", [NUMBERS, TEXT], ids=["numbers", "text"])
def test_contributions_of_blocks_of_rows_have_their_own_nulls(
    reads: None, monkeypatch: pytest.MonkeyPatch, X: pd.DataFrame
) -> None:
    monkeypatch.setattr(contributions, "CELLS", 50)
    y = SIGNAL.to_numpy()
    found, wanted = (
        Accelerated(xgboost.XGBRegressor(n_estimators=4, **GIVEN), device=device)
        .fit(put(X), y)
        .contributions(put(X))
        .values
        for device, put in {"cuda": to_cudf, "cpu": lambda X: X}.items()
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("queries", [pd.Series, to_cudf], ids=["host", "device"])
def test_rows_of_a_frame_of_cudf_are_sorted_by_query(reads: None, queries: Any) -> None:
    asked = pd.Series(RNG.permutation(ROWS) % 9)
    y = (SIGNAL > 0.5).to_numpy().astype(int)
    last = xgboost.XGBRanker(n_estimators=4, **GIVEN)
    ours = Accelerated(last, device="cuda").fit(to_cudf(TEXT), y, qid=queries(asked))
    plain = Accelerated(last, device="cpu").fit(TEXT, y, qid=asked)
    np.testing.assert_array_equal(ours.predict(to_cudf(TEXT)), plain.predict(TEXT))
    scored = ours.score(to_cudf(TEXT), y, qid=queries(asked))
    assert scored == pytest.approx(plain.score(TEXT, y, qid=asked))


def test_text_of_partitions_has_its_own_nulls(device: Recorder) -> None:
    kinds = {"a": pd.CategoricalDtype([*"vwxyz"])}
    found = distributed._as(to_cudf(TEXT[["a"]]).iloc[CUT:], kinds).to_pandas()
    pd.testing.assert_frame_equal(found, TEXT[["a"]].iloc[CUT:].astype(kinds))


def test_training_goes_on_from_trees_of_text_where_none_is_missing(reads: None) -> None:
    last = xgboost.XGBRegressor(n_estimators=3, **GIVEN)
    full = TEXT.fillna({name: "w" if name == "a" else "none" for name in "abc"})
    known, y = as_categories(full), SIGNAL.to_numpy()
    first = Accelerated(last, device="cuda").fit(to_cudf(full[:CUT]), y[:CUT])
    more = {"xgb_model": first.to_sklearn().get_booster()}
    found = Accelerated(last, device="cuda").fit(to_cudf(full).iloc[CUT:], y[CUT:], **more)
    start = clone(last).fit(known[:CUT], y[:CUT]).get_booster()
    wanted = clone(last).fit(known[CUT:], y[CUT:], xgb_model=start).predict(known)
    np.testing.assert_array_equal(found.predict(to_cudf(full)), wanted)
    lacking = to_cudf(TEXT)
    with pytest.raises(Unsupported, match=r"takes missing categories.*\['a', 'b', 'c'\]"):
        Accelerated(last, device="cuda").fit(lacking, y, **more)
    with pytest.raises(Unsupported, match="booster.*trees are dropped"):
        Accelerated(clone(last).set_params(booster="dart"), device="cuda").fit(lacking, y)


class Delayed(Sequence):
    """An address that is looked up when it is asked for: `DelayedPointerTuple` of cuDF."""

    def __getitem__(self, place: Any) -> Any:
        return (4096, False)[place]

    def __len__(self) -> int:
        return 2


def test_the_address_of_a_mask_that_may_be_spilled_can_be_written_down() -> None:
    told = {"data": (1024, False), "mask": {"data": Delayed(), "shape": (3,)}}
    found = handover._TellsAddress(lambda column: dict(told))(None)
    assert json.loads(json.dumps(found))["mask"] == {"data": [4096, False], "shape": [3]}
