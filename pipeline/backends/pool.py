"""Where XGBoost takes the memory of a GPU from."""

from __future__ import annotations

from pipeline.optional import load
from pipeline.system import devices


def use_memory_pool(device: str) -> None:
    """Let XGBoost use CUDA's asynchronous pool in this thread, unless it is to use RMM.

    Without it every page and every temporary is a `cudaMalloc`, which waits for the GPU. The
    setting stays when the call is over: memory goes back to where it came from. The pool keeps
    what is freed, or else it would be mapped anew after each time that the GPU is waited for.

    Parameters
    ----------
    device : {"cpu", "cuda"}
        Where it is about to run.
    """
    if device != "cuda":
        return
    xgboost = load("xgboost")
    if xgboost.get_config()["use_rmm"]:
        return
    try:
        xgboost.set_config(use_cuda_async_pool=True)
    except xgboost.core.XGBoostError:
        # No GPU, or one without a pool: where it trains is asked afterwards. What failed is
        # kept, and would fail again in whatever reads the settings.
        xgboost.set_config(use_cuda_async_pool=False)
    else:
        devices.keep_freed_memory()
