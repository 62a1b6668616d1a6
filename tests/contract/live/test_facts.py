"""The facts that the stand-ins imitate and our code stands on, in the installed packages."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
import weakref
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from pipeline.backends.xgboost import handover
from pipeline.optional import load
from tests.contract import arrays
from tests.contract.live.sources import compiled, of_class, shipped, source
from tests.contract.test_accelerated import DENSE

FACTS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("facts.toml").read_text("utf-8")
)


@pytest.mark.parametrize("fact", FACTS)
def test_the_sources_say_so(fact: str) -> None:
    for where, texts in FACTS[fact].items():
        for text in [texts] if isinstance(texts, str) else texts:
            there = (
                bool(compiled(where, re.escape(text)))
                if where.endswith(".so")
                else text in (source if ":" in where else shipped)(where)
            )
            assert there == (fact != "never"), (where, text)


class Interface:
    """As much of cuDF's columns, and of their masks, as XGBoost asks for."""

    dtype = np.dtype("float64")
    memory: Any = None

    def __init__(self, length: int, kind: str, **more: Any) -> None:
        shown = {"shape": (length,), "typestr": kind, "data": (64, True), "version": 3}
        self.__cuda_array_interface__ = shown | more


def test_masks_are_bytes_in_cudf_and_bits_to_xgboost() -> None:
    assert '"typestr": "|u1"' in source("cudf.core.buffer.buffer:Buffer")
    column = Interface(13, "<f8", mask=Interface(64, "|u1"))
    made = json.loads(load("xgboost._data_utils").cuda_array_interface(column))
    assert (made["mask"]["typestr"], made["mask"]["shape"]) == ("|t1", [13])
    base = load("cudf.core.column.column").ColumnBase
    assert list(inspect.signature(base.to_pylibcudf).parameters) == ["self"]
    assert callable(load("pylibcudf").Column.offset)


class Text:
    """As much of three columns of text categories as XGBoost asks for; `codes` are made anew."""

    made: ClassVar[list[weakref.ref[Interface]]] = []
    dtype = pd.StringDtype(na_value=np.nan)

    @property
    def codes(self) -> Interface:
        memory = np.zeros(1000, "int8")
        codes = Interface(1000, "|i1", data=(memory.ctypes.data, True))
        codes.memory = memory
        self.made.append(weakref.ref(codes))
        return codes

    @property
    def categories(self) -> Text:
        return self

    @property
    def _column(self) -> Text:
        return self

    def to_pylibcudf(self) -> Any:
        kind = load("pylibcudf.TypeId")
        offsets = Libcudf(kind.INT32, [])
        return Libcudf(kind.STRING, [offsets])


class Libcudf:
    """A column of libcudf."""

    def __init__(self, kind: Any, children: list[Any]) -> None:
        self.id = lambda: kind
        self.type = lambda: self
        self.children = lambda: children
        self.null_count = self.offset = lambda: 0
        self.size = lambda: 4
        self.data = lambda: Interface(4, "|u1")


def test_codes_of_text_live_until_xgboost_has_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("xgboost.data")
    for each in (module, load("xgboost._data_utils")):
        monkeypatch.setattr(each, "cuda_array_interface_dict", each.cuda_array_interface_dict)
    monkeypatch.setattr(module, "cudf_cat_inf", module.cudf_cat_inf)
    with pytest.raises(TypeError, match="Cannot interpret"):  # else `handover` has had its day
        module.CudfTransformed([Text()], None)
    Text.made.clear()
    handover._patch_xgboost()
    found = module.CudfTransformed([Text(), Text(), Text()], None)
    alive = [codes for each in Text.made if (codes := each()) is not None]
    told = [codes["data"][0] for _, codes in found.aitfs]
    assert told == [codes.__cuda_array_interface__["data"][0] for codes in alive]
    assert len(set(told)) == 3


def test_xgboost_is_built_for_the_cuda_of_rapids_and_has_a_pool_of_memory() -> None:
    xgboost = load("xgboost")
    built = xgboost.build_info()
    assert built["USE_CUDA"]
    assert built["CUDA_VERSION"][0] == 13
    assert not built["USE_RMM"]  # else RMM's own memory would be the one to take
    assert "use_cuda_async_pool" in xgboost.get_config()


def test_the_pool_of_cuda_is_asked_as_in_the_stand_in() -> None:
    """CuPy's functions are compiled: the first line of their text says what they take."""
    real, standin = load("cupy").cuda.runtime, arrays.Runtime()
    for name in (name for name in dir(standin) if "Pool" in name):
        member, found = getattr(standin, name), getattr(real, name)
        if callable(member):
            taken = re.findall(r"(\w+)[,)]", found.__doc__.partition("\n")[0])
            assert taken == list(inspect.signature(member).parameters), name
        else:
            assert member == found, name
    assert load("cupy").cuda.get_allocator() is load("rmm.allocators.cupy.rmm_cupy_allocator"), (
        "by cuDF"
    )
    assert int(load("cuda.bindings.runtime.cudaMemPool_t")(5)) == 5
    with pytest.raises(ValueError, match="pool_handle must be"):
        load("rmm.mr").CudaAsyncViewMemoryResource(5)
    with pytest.raises(RuntimeError):  # no GPU here
        real.deviceGetDefaultMemPool(0)


def test_the_softmax_of_cuml_takes_no_weights() -> None:
    """Of its kernel: output, gradient, scores, labels, classes, rows, whether to derive."""
    kernel = "logSoftmaxKernelIfLi4ELi64EEE([A-Za-z0-9_]+)"
    assert compiled("libcuml/lib64/libcuml.so", kernel) == {b"vPT_S4_PKS3_S6_iib"}


ELSEWHERE = {
    **dict.fromkeys(("ElasticNet", "Lasso"), "solvers/cd.pyx"),
    **dict.fromkeys(("LinearSVC", "LinearSVR"), "svm/linear.pyx"),
}
"""Where cuML prepares the matrix of a class in another file than its own."""


@pytest.mark.parametrize("path", DENSE)
def test_order_and_type_of_the_matrix_of_a_rule_are_those_that_cuml_takes(path: str) -> None:
    """The first type that a class takes is what it makes of all that it does not take."""
    twin, row = load(DENSE[path].twin), DENSE[path]
    other = ELSEWHERE.get(row.twin.rpartition(".")[2])
    text = Path(load("cuml").__path__[0], other).read_text() if other else of_class(twin)
    calls = re.findall(r"(?:check_inputs|cp\.array)\([^()]*(?:\([^()]*\)[^()]*)*\)", text)
    assert row.order == "C" or any('order="F"' in call for call in calls)
    forest = "Forest" in path  # scikit-learn's make float32 of their rows
    taken = ["float32"] if row.dtype == "float32" and not forest else ["float32", "float64"]
    for call in (call for call in calls if "check_inputs" in call and "reset=True" in call):
        for line in re.findall(r"\bdtype=([^\n]*),", call):
            assert re.findall(r"float\d+", line) == taken
