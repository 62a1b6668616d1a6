"""The memory of a GPU: it comes from a pool, and where it runs out that is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated
from pipeline.backends.base import Model
from pipeline.compile.program import Program
from pipeline.errors import OutOfMemory
from pipeline.optional import load
from pipeline.serving import predict
from pipeline.serving.save import save
from pipeline.system import devices, threads
from pipeline.table import partitioned
from tests import programs
from tests.contract import arrays, standins
from tests.contract.recorder import LIVE, Recorder

pytestmark = pytest.mark.usefixtures("device")

FULL = {
    "RMM": MemoryError("std::bad_alloc: out_of_memory: CUDA error at: device_memory_resource"),
    "CuPy": type("OutOfMemoryError", (MemoryError,), {})("Out of memory allocating 8 bytes"),
    "cuML": RuntimeError("CUDA error encountered: cudaErrorMemoryAllocation out of memory"),
    "XGBoost": type("XGBoostError", (ValueError,), {})("[12:00:00] bad_malloc: Failed to allocate"),
}


def fitted(device: str = "cuda", **params: Any) -> Accelerated:
    estimator = programs.program(LogisticRegression(C=0.5))
    return Accelerated(estimator, device=device, **params).fit(programs.TABLE, programs.NUMBERS)


@pytest.mark.parametrize("library", FULL)
@pytest.mark.parametrize("call", ["fit", "predict_proba"])
def test_it_is_one_error_whichever_library_raises_it(
    library: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise FULL[library]

    model = fitted()
    monkeypatch.setattr(Model, "fit" if call == "fit" else "call", full)
    says = f'^logisticregression: the memory of the GPU ran out in {call}; .*device="cpu"$'
    with pytest.raises(OutOfMemory, match=says) as caught:
        fitted() if call == "fit" else model.predict_proba(programs.TABLE)
    assert caught.value.exit_code == 71
    assert caught.value.__cause__ is FULL[library]


def failing(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, times: int) -> list[int]:
    """Let a method of a step on the GPU run out of memory some times; return what it was like."""
    pieces: list[int] = []
    whole = getattr(owner, name)

    def full(self: Any, *args: Any, **params: Any) -> Any:
        if getattr(self, "device", "cuda") == "cpu" or type(self).__name__ == "Plain":
            return whole(self, *args, **params)
        pieces.append(threads.pieces())
        if len(pieces) <= times:
            raise FULL["RMM"]
        return whole(self, *args, **params)

    monkeypatch.setattr(owner, name, full)
    return pieces


@pytest.mark.parametrize(
    ("owner", "name", "step"), [(Program, "fit_transform", 0), (Model, "fit", -1)]
)
def test_a_fit_that_does_not_fit_is_done_again_in_halves_and_says_so(
    device: Recorder, owner: Any, name: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fitted().predict_proba(programs.TABLE)
    before = load("cupy").cuda.runtime.trims
    pieces = failing(monkeypatch, owner, name, times=1)
    model = fitted()
    assert pieces[:2] == [1, 2]
    assert load("cupy").cuda.runtime.trims == before + 1
    assert "ran out of memory once; memory was freed" in model.plan_.steps[step].placements[0].note
    np.testing.assert_allclose(model.predict_proba(programs.TABLE), expected, rtol=1e-5)


def test_a_batch_that_does_not_fit_names_the_option(
    device: Recorder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def call(self: Any, method: str, X: Any, **params: Any) -> Any:
        raise FULL["RMM"]

    folder = save(fitted("cpu"), tmp_path / "model")
    programs.TABLE.to_parquet(tmp_path / "in.parquet")
    monkeypatch.setattr(Model, "call", call)
    job = predict.PredictionJob(folder, tmp_path / "in.parquet", tmp_path / "out", "cuda")
    with pytest.raises(OutOfMemory, match=r"smaller batches \(--rows\)"):
        predict.run_job(job, lambda _: None)


X = np.arange(8.0).reshape(-1, 2)


def current() -> Any:
    return load("rmm.mr").get_current_device_resource()


def test_memory_is_pooled_before_the_first_array_for_cupy_and_xgboost_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pooled = []
    made = arrays.ndarray.__init__

    def init(self: Any, host: np.ndarray) -> None:
        pooled.append(type(current()) is standins.CudaAsyncViewMemoryResource)
        made(self, host)

    monkeypatch.setattr(arrays.ndarray, "__init__", init)
    cuda = load("cupy").cuda
    Accelerated(StandardScaler(), device="cuda").fit(X)  # of NumPy: nothing imports cuDF
    assert pooled
    assert all(pooled)
    assert current().handle == cuda.runtime.pool
    assert cuda.runtime.threshold == 2**64 - 1, "what is freed is kept"
    assert cuda.get_allocator() is standins.rmm_cupy_allocator


def test_what_the_pool_keeps_is_room_for_the_next_table_and_is_given_back_on_request() -> None:
    devices.prepare_memory("cuda")
    cupy = load("cupy")
    with LIVE.counted():
        free = partitioned.room("cuda")
        made = cupy.asarray(np.zeros(10**6))
        held = partitioned.room("cuda")
        assert free - held == made.nbytes
        del made
        assert cupy.cuda.runtime.memGetInfo()[0] == held, "the pool keeps it"
        assert partitioned.room("cuda") == free
        devices.release_memory("cuda")
        assert cupy.cuda.runtime.memGetInfo()[0] == free
