"""cuML's Python layer with NumPy in the place of CuPy: enough to turn fitted models about.

cuML converts fitted attributes in Python, between NumPy and CuPy arrays. With arrays of
the host under CuPy's names that code runs without a GPU. No kernel runs.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from scipy import sparse

from pipeline.optional import load

Order = Literal["C", "F", "A"]


class Array(np.ndarray):
    """A NumPy array with CuPy's way to the host."""

    def get(self, *, order: Order = "C", **ignored: Any) -> np.ndarray:
        """Return the values as NumPy's own, in rows unless asked otherwise."""
        return np.array(self, order=order, subok=False)


class Cupy(ModuleType):
    """NumPy under the name of CuPy: arrays that it returns are `Array`."""

    ndarray = Array

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(np, name)
        plain = isinstance(found, type | np.ufunc) or not callable(found)
        return found if plain else _on_device(found)

    @staticmethod
    def asnumpy(a: Any, *, order: Order = "C") -> np.ndarray:
        return np.array(a, order=order, subok=False)


def _on_device(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        return made.view(Array) if isinstance(made, np.ndarray) else made

    return call


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put NumPy in the place of CuPy in all modules of cuML that are loaded."""
    places = {id(load("cupy")): Cupy("cupy"), id(load("cupyx.scipy.sparse")): sparse}
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == "cuml"]:
        for name, value in list(vars(module).items()):
            if id(value) in places:
                monkeypatch.setattr(module, name, places[id(value)])
    monkeypatch.setattr(sparse.csr_matrix, "get", sparse.csr_matrix.copy, raising=False)
    monkeypatch.setattr(sys.modules["cuml.naive_bayes.naive_bayes"], "_binarize", _binarize)
    # Entering a stream would ask for a device.
    streams = SimpleNamespace(ptds=nullcontext())
    monkeypatch.setattr(sys.modules["cuml.internals.outputs"], "Stream", streams)


def _binarize(values: Any, threshold: float) -> Any:
    """Do what a kernel of cuML does, which is text for CUDA's compiler."""
    return (values > threshold).astype(values.dtype)
