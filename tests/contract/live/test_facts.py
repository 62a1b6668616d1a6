"""The facts that the stand-ins imitate and our code stands on, in the installed packages."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
import weakref
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml.multi_gpu import MULTI_GPU
from pipeline.backends.cuml.tables import rule
from pipeline.backends.xgboost import handover
from pipeline.optional import load
from tests.contract import arrays, standins
from tests.contract.live.sources import compiled, of_class, shipped, source
from tests.contract.test_accelerated import DENSE

PARQUET = "cudf.io.parquet"
FACTS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("facts.toml").read_text("utf-8")
)


def is_written(where: str, text: str) -> bool:
    if where.endswith(".so"):
        return bool(compiled(where, re.escape(text)))
    return text in (source if ":" in where else shipped)(where)


@pytest.mark.parametrize("fact", FACTS)
def test_the_sources_say_so(fact: str) -> None:
    assert FACTS[fact]
    for where, texts in FACTS[fact].items():
        for text in [texts] if isinstance(texts, str) else texts:
            assert is_written(where, text) == (fact != "never"), (where, text)


def test_dictionaries_are_asked_of_no_one_and_missing_columns_are_left_out() -> None:
    options = load("pylibcudf.io.parquet").ParquetReaderOptionsBuilder
    assert not [name for name in dir(options) if "dict" in name.lower()]
    taken = inspect.signature(load(PARQUET).read_parquet).parameters
    assert taken["ignore_missing_columns"].default


def test_row_groups_are_left_as_they_are_where_there_are_no_partitions() -> None:
    paths, groups = ["a", "b"], [[0], [2]]
    found = load(PARQUET)._process_dataset(
        paths=paths, fs=None, filters=None, row_groups=groups, dataset_kwargs={}
    )
    assert found == (paths, groups, [], {})


def test_dates_get_a_zone() -> None:
    kinds = vars(load("cudf.core.series")).values()
    assert any(hasattr(each, "tz_convert") for each in kinds if hasattr(each, "tz_localize"))
    kind = load("cudf.core._internals.timezones").get_compatible_timezone
    assert str(kind(pd.DatetimeTZDtype("us", "Europe/Berlin")).tz) == "Europe/Berlin"
    with pytest.raises(NotImplementedError, match="cudf does not support"):
        kind(pd.DatetimeTZDtype("us", "+01:30"))


def test_frames_of_cudf_are_known_to_dask_once_dask_cudf_is_there() -> None:
    load("dask_cudf")
    known = load("dask.dataframe").get_collection_type
    assert known.dispatch(load("cudf").DataFrame) is not known.dispatch(object)


def test_cupy_knows_no_nullable_types() -> None:
    for dtype in (pd.Int64Dtype(), pd.BooleanDtype(), pd.Float64Dtype()):
        with pytest.raises(TypeError, match="Cannot interpret"):
            load("cupy").can_cast(dtype, dtype)


def test_frames_offer_cupy_no_array_and_nothing_becomes_one_of_numpy_by_itself() -> None:
    cudf = load("cudf")
    assert not hasattr(cudf.DataFrame, "__cuda_array_interface__")
    assert hasattr(cudf.Series, "__cuda_array_interface__")
    for kind in (cudf.DataFrame, cudf.Series, cudf.Index):
        with pytest.raises(TypeError, match="Implicit conversion"):
            kind.__array__(None)


def test_standins_bear_the_names_that_our_code_looks_for() -> None:
    for real in ("cudf.DataFrame", "cudf.Series", "cudf.Index", "cupy.ndarray"):
        assert load(real).__module__.partition(".")[0] == real.partition(".")[0]


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
    monkeypatch.setattr(module, "cudf_cat_inf", module.cudf_cat_inf)
    with pytest.raises(TypeError, match="Cannot interpret"):  # else `handover` has had its day
        module.CudfTransformed([Text()], None)
    Text.made.clear()
    handover._keep_codes()
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


def test_the_resource_of_rmm_is_set_as_in_the_stand_in() -> None:
    mr = load("rmm.mr")
    taken = inspect.signature(mr.set_current_device_resource).parameters
    standin = inspect.signature(standins.Rmm.set_current_device_resource).parameters
    assert list(taken) == list(standin)[1:]
    assert issubclass(mr.CudaAsyncViewMemoryResource, mr.DeviceMemoryResource)


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
    cupy = load("cupy")
    own = cupy.get_default_memory_pool().malloc
    assert own == cupy.get_default_memory_pool().malloc
    assert cupy.cuda.get_allocator() is load("rmm.allocators.cupy.rmm_cupy_allocator"), "by cuDF"
    named = load("cuda.bindings.runtime.cudaMemPool_t")(5)
    assert int(named) == 5
    with pytest.raises(ValueError, match="pool_handle must be"):
        load("rmm.mr").CudaAsyncViewMemoryResource(5)
    with pytest.raises(RuntimeError):  # no GPU here
        real.deviceGetDefaultMemPool(0)


@pytest.mark.parametrize("name", ["min_samples_leaf", "min_samples_split", "max_features"])
def test_forests_ask_python_for_whole_numbers(name: str) -> None:
    text = shipped("cuml/ensemble/randomforest_common.pyx")
    assert f"isinstance(self.{name}, int)" in text or f"isinstance({name}, int)" in text
    estimator = RandomForestClassifier(**{name: np.int64(4)})
    assert type(cuml_estimator.translate(rule(estimator), estimator, "step")[name]) is int
    assert cuml_estimator.list_dropped(rule(estimator), estimator, "step") == []


def test_lars_of_cuml_does_not_centre_its_columns() -> None:
    """So it has no rule: its intercept is the mean of y, whatever the means of the columns."""
    text = shipped("cuml/linear_model/lars.pyx")
    fitting = text.partition("def fit(self, X, y)")[2].partition("def predict")[0]
    assert "y = y - y_mean" in fitting
    assert "intercept = y_mean" in fitting
    assert "X.mean" not in fitting


def test_the_softmax_of_cuml_takes_no_weights() -> None:
    """Of its kernel: output, gradient, scores, labels, classes, rows, whether to derive."""
    kernel = "logSoftmaxKernelIfLi4ELi64EEE([A-Za-z0-9_]+)"
    assert compiled("libcuml/lib64/libcuml.so", kernel) == {b"vPT_S4_PKS3_S6_iib"}


ELSEWHERE = {
    "ElasticNet": "solvers/cd.pyx",
    "Lasso": "solvers/cd.pyx",
    "LinearSVC": "svm/linear.pyx",
    "LinearSVR": "svm/linear.pyx",
}
"""Where cuML prepares the matrix of a class in another file than its own."""


@cache
def prepared(path: str) -> list[str]:
    """Return the calls by which cuML prepares the matrix of a class."""
    twin = load(DENSE[path].twin)
    other = ELSEWHERE.get(DENSE[path].twin.rpartition(".")[2])
    text = Path(load("cuml").__path__[0], other).read_text() if other else of_class(twin)
    return re.findall(r"(?:check_inputs|cp\.array)\([^()]*(?:\([^()]*\)[^()]*)*\)", text)


@pytest.mark.parametrize("path", [path for path, rule in DENSE.items() if rule.order == "F"])
def test_cuml_copies_what_is_in_another_order(path: str) -> None:
    assert any('order="F"' in call for call in prepared(path))


@pytest.mark.parametrize("path", DENSE)
def test_cuml_learns_from_float32_and_makes_it_of_integers(path: str) -> None:
    """The first type that a class takes is what it makes of all that it does not take."""
    calls = [call for call in prepared(path) if "check_inputs" in call and "reset=True" in call]
    kinds = [
        re.findall(r"float\d+", line)
        for call in calls
        for line in re.findall(r"\bdtype=([^\n]*),", call)
    ]
    forest = "Forest" in path  # scikit-learn's make float32 of their rows
    taken = ["float32"] if DENSE[path].narrow and not forest else ["float32", "float64"]
    assert all(kind == taken for kind in kinds)


def test_the_class_of_dask_swallows_what_it_does_not_know() -> None:
    made = load("cuml.dask.linear_model.Ridge")(client=object(), colour=1)
    assert made.kwargs["colour"] == 1
    assert "KMeans" in MULTI_GPU["sklearn.cluster.KMeans"].path
