"""The manners of the stand-ins: what they copy, refuse and take for missing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from pipeline.data import frames
from pipeline.data.dense import densify
from pipeline.optional import available
from pipeline.system import devices
from pipeline.trace import execution_log, record
from tests.contract import standins
from tests.contract.cases import to_cudf
from tests.contract.recorder import LIVE, RECORDER, Recorder, Refused

pytestmark = pytest.mark.usefixtures("recorder")

NULLS = {
    "float": pd.Series([1.5, None, 2.5]),
    "nullable int": pd.Series([1, None, 2], dtype="Int64"),
    "object bool": pd.Series([True, None, False], dtype=object),
}


def test_our_code_takes_them_for_the_real_libraries() -> None:
    cudf, cupy = sys.modules["cudf"], sys.modules["cupy"]
    frame = cudf.from_pandas(pd.DataFrame({"x": [1]}))
    for made, library in (
        (frame, "cudf"),
        (frame["x"], "cudf"),
        (frame.index, "cudf"),
        (cupy.asarray([1]), "cupy"),
    ):
        assert frames.library(made) == library
        assert frames.device_of(made) == "cuda"
    assert available("cuml")


def test_they_are_gone_afterwards() -> None:
    names = ("cudf", "cupy", "cuml", "rmm.mr")
    before = [sys.modules[name] for name in names], devices.gpu.probe
    with pytest.MonkeyPatch.context() as patch:
        standins.install(patch)
        assert isinstance(sys.modules["cudf"], standins.Cudf)
        assert sys.modules["cudf"] is not before[0][0]
        assert devices.obstacle() == ""
    assert ([sys.modules[name] for name in names], devices.gpu.probe) == before


def test_copies_are_noted_with_their_direction(recorder: Recorder) -> None:
    array = sys.modules["cupy"].asarray(np.zeros(4))
    array.get()
    assert bool(array.sum() == 0)
    assert [(copy.to, copy.how, copy.nbytes) for copy in recorder.copies] == [
        ("device", "explicit", 32),
        ("host", "explicit", 32),
        ("host", "scalar", 1),
    ]


def test_counting_reads_two_values_and_refuses_negatives(recorder: Recorder) -> None:
    cupy = sys.modules["cupy"]
    codes = cupy.asarray(np.array([2, 0, 2]))
    assert cupy.bincount(codes, minlength=4).get().tolist() == [1, 0, 2, 0]
    assert recorder.scalars() == 2
    with pytest.raises(ValueError, match="non-negative"):
        cupy.bincount(codes - 1)


def test_what_has_a_length_that_only_the_device_knows_is_waited_for(recorder: Recorder) -> None:
    cupy = sys.modules["cupy"]
    array = cupy.asarray(np.array([2.0, 0.0, 2.0]))
    for read in (
        lambda: array[array > 1],
        lambda: cupy.nonzero(array),
        lambda: array.nonzero(),
        lambda: cupy.unique(array),
    ):
        recorder.clear()
        read()
        assert (recorder.scalars(), recorder.syncs()) == (1, 1)


def test_only_some_types_are_added_to_at_once() -> None:
    cupy = sys.modules["cupy"]
    sums = cupy.zeros(3)
    sums.scatter_add(cupy.asarray(np.array([1, 1, -1])), 1.0)
    assert sums.get().tolist() == [0.0, 2.0, 1.0]
    with pytest.raises(TypeError, match="only supports int32"):
        cupy.zeros(3, dtype="int64").scatter_add(cupy.asarray(np.array([1])), 1)


def test_results_stay_on_the_device() -> None:
    cupy = sys.modules["cupy"]
    array = cupy.asarray(np.arange(6.0).reshape(2, 3))
    for result in (array.sum(), array.T, array[0], array * 2, cupy.stack([array, array]), -array):
        assert isinstance(result, cupy.ndarray)
    values, codes = cupy.unique(array, return_inverse=True)
    assert isinstance(values, cupy.ndarray)
    assert isinstance(codes, cupy.ndarray)


def test_views_share_memory() -> None:
    array = sys.modules["cupy"].empty((2, 2))
    array[:1][...] = 7.0
    assert array.get()[0].tolist() == [7.0, 7.0]


def test_uploaded_array_is_a_copy() -> None:
    host = np.zeros(2)
    sys.modules["cupy"].asarray(host)[0] = 1.0
    assert host.tolist() == [0.0, 0.0]


def test_upload_turns_missing_into_null() -> None:
    for series in NULLS.values():
        assert to_cudf(series).hasnans


@pytest.mark.parametrize("name", ["float", "object bool"])
def test_nulls_become_the_value_they_are_told(name: str) -> None:
    column = to_cudf(NULLS[name])
    column = column.astype("float64") if column.dtype.kind == "b" else column
    found = column.to_cupy(na_value=-1.0).get()
    assert found[1] == -1.0


def test_bool_with_nulls_does_not_become_an_array() -> None:
    column = to_cudf(NULLS["object bool"])
    assert column.dtype == np.dtype(bool)
    with pytest.raises(ValueError, match="no nulls"):
        column.to_cupy()


def test_nullable_int_keeps_its_type_and_has_no_way_to_cupy() -> None:
    column = to_cudf(NULLS["nullable int"])
    assert column.dtype == pd.Int64Dtype()
    with pytest.raises(TypeError, match="Cannot interpret"):
        column.to_cupy(na_value=np.nan)
    assert np.isnan(column.astype("float64").to_cupy(na_value=np.nan).get()[1])


def test_values_with_nulls_are_floats_and_as_integers_the_least_one() -> None:
    codes = to_cudf(pd.Series(["b", None, "a"], dtype="category")).cat.codes
    assert codes.values.dtype == np.dtype("float64")
    assert codes.values.astype("int64").get().tolist() == [1, -(2**63), 0]
    with pytest.raises(ValueError, match="non-negative"):
        sys.modules["cupy"].bincount(codes.values.astype("int64") + 1)
    with pytest.raises(ValueError, match="with missing values"):
        _ = to_cudf(NULLS["nullable int"]).values
    with pytest.raises(ValueError, match="no nulls"):
        _ = to_cudf(NULLS["object bool"]).values


def test_codes_of_nulls_are_null_until_filled() -> None:
    codes = to_cudf(pd.Series(["b", None, "a"], dtype="category")).cat.codes
    assert codes.dtype == np.dtype("int8")
    assert codes.hasnans
    filled = codes.fillna(-1).to_cupy()
    assert filled.dtype == np.dtype("int8")
    assert filled.get().tolist() == [1, -1, 0]


def test_names_that_the_real_class_lacks_are_lacking() -> None:
    column = to_cudf(NULLS["float"])
    assert not hasattr(column, "nbytes")
    assert hasattr(NULLS["float"], "nbytes")


@pytest.mark.parametrize(
    ("series", "why"),
    [
        (pd.Series([1.0], dtype="float16"), "float16"),
        (pd.Series(["a", 1], dtype=object), "mixed-integer"),
    ],
)
def test_what_cudf_cannot_hold_is_refused(series: pd.Series, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        to_cudf(series)


def test_cuml_takes_no_matrix_from_the_host() -> None:
    twin = sys.modules["cuml.linear_model"].LogisticRegression
    model = twin(**twin._params_from_cpu(LogisticRegression()))
    with pytest.raises(Refused):
        model.fit(np.zeros((4, 1)), np.array([0, 1, 0, 1]))


def sparse_rows(dtype: str = "float64", slack: int = 0) -> Any:
    """Return sparse rows that are made of arrays of the device, some of which hold more cells."""
    cells = np.array([[2, 1, 3], [1, 0, 2]]).repeat([1, 1, 1 + slack], axis=1)
    parts = cells[0].astype(dtype), cells[1].astype("int32"), np.array([0, 1, 3], "int32")
    make = sys.modules["cupyx.scipy.sparse"].csr_matrix
    return make(tuple(map(sys.modules["cupy"].asarray, parts)), shape=(2, 3))


@pytest.mark.parametrize("slack", [0, 2])
def test_sparse_rows_are_made_of_arrays_and_read_how_many_cells_there_are(
    slack: int, recorder: Recorder
) -> None:
    made = sparse_rows(slack=slack)
    assert (recorder.scalars(), made.nnz, frames.library(made)) == (1, 3, "cupyx")
    np.testing.assert_array_equal(made.get().toarray(), [[0, 2, 0], [1, 0, 3]])
    np.testing.assert_array_equal((made * 2)[1:].get().toarray(), [[2, 0, 6]])
    assert recorder.scalars() == 3


@pytest.mark.parametrize(
    ("dtypes", "indices", "indptr", "why"),
    [
        (("int64", "int32"), [1], [0, 1], "Only bool, float32, float64"),
        (("float32", "int64"), [1], [0, 1], "look through indices of int64"),
        (("float32", "int32"), [1], [0, 2], "exceeds the size"),
        (("float32", "int32"), [1, 2], [0, 1], "should have the same size"),
        (("float32", "int32"), [3], [0, 1], "indices must be < 3"),
    ],
    ids=["counts", "long indices", "too few", "too many", "outside"],
)
def test_sparse_rows_that_cupy_has_not_are_refused(
    dtypes: tuple[str, str], indices: list[int], indptr: list[int], why: str
) -> None:
    parts = np.ones(1, dtypes[0]), np.array(indices, dtypes[1]), np.array(indptr, dtypes[1])
    with pytest.raises((ValueError, Refused), match=why):
        sys.modules["cupyx.scipy.sparse"].csr_matrix(
            tuple(map(sys.modules["cupy"].asarray, parts)), shape=(1, 3)
        )


def test_the_bytes_of_sparse_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # The arguments of a call that is recorded stay alive.
    monkeypatch.setattr(RECORDER, "call", lambda *_: None)
    with LIVE.counted() as live:
        made = sparse_rows("float32")
        assert live.nbytes == frames.csr_nbytes(made) == 3 * (4 + 4) + 3 * 4
        del made
        assert live.nbytes == 0


@pytest.mark.parametrize("how", ["toarray", "todense"])
def test_sparse_rows_are_made_dense_only_where_the_log_tells_it(how: str) -> None:
    made = sparse_rows()
    with pytest.raises(Refused, match=r"\(2, 3\) are made dense, and no event"):
        getattr(made, how)()
    with record("forest", "fit", "cuda"), pytest.raises(Refused, match="no event of the log"):
        getattr(made, how)()
    with execution_log() as book:
        dense = densify(made, "forest", "it is a forest")
    np.testing.assert_array_equal(dense.get(), [[0, 2, 0], [1, 0, 3]])
    assert [(e.step, e.call, e.device) for e in book.entries] == [("forest", "densify", "cuda")]
