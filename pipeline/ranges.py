"""Names for stretches of time on a GPU, which Nsight Systems shows: NVTX ranges.

The package ``nvtx`` comes with cuDF. Without a tool that looks, a range costs next to nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

DOMAIN = "pipeline"


def named(step: str, call: str, device: str) -> AbstractContextManager[Any]:
    """Return a range with the name of a step and its call, on a GPU; elsewhere nothing.

    Parameters
    ----------
    step, call : str
    device : str

    Examples
    --------
    >>> with named("scaler", "fit", "cpu"):
    ...     pass
    """
    nvtx = _nvtx() if device.startswith("cuda") else None
    if nvtx is None:
        return nullcontext()
    found: AbstractContextManager[Any] = nvtx.annotate(f"{step} {call}", domain=DOMAIN)
    return found


@cache
def _nvtx() -> Any:
    return importlib.import_module("nvtx") if importlib.util.find_spec("nvtx") else None
