from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline.compile.program import Program
from pipeline.errors import DataError
from pipeline.table.convert import Origin, convert, origins
from pipeline.table.schema import kind_of

pl = pytest.importorskip("polars")

ROWS = 60
_rng = np.random.default_rng(0)
_hole = np.arange(ROWS) % 7 == 3


def holed(values: Any) -> list[Any]:
    return [None if hole else value for value, hole in zip(values.tolist(), _hole, strict=True)]


VALUES: dict[str, list[Any]] = {
    "whole": _rng.integers(0, 5, ROWS).tolist(),
    "whole, missing": holed(_rng.integers(0, 5, ROWS)),
    "real, missing": holed(_rng.normal(size=ROWS)),
    "flag": (_rng.random(ROWS) < 0.5).tolist(),
    "flag, missing": holed(_rng.random(ROWS) < 0.5),
    "text": _rng.choice(["b", "a", "Zé", "日本", ""], ROWS).tolist(),
    "text, missing": holed(_rng.choice(["b", "a", "Zé", "日本", ""], ROWS)),
}
"""The same table, whichever form it comes in."""

ARROW = pa.table(VALUES)
POLARS = pl.DataFrame(VALUES)
PANDAS = pd.DataFrame(VALUES).convert_dtypes(dtype_backend="numpy_nullable")
TEXT = ["text", "text, missing"]
NUMERIC = [name for name in VALUES if name not in TEXT]


class Stream:
    """Any object that Arrow can read."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return ARROW.__arrow_c_stream__(requested_schema)


class Interchange:
    """A frame of the older protocol."""

    def __dataframe__(self, **options: Any) -> Any:
        return ARROW.__dataframe__(**options)


def with_text_as(convert: Callable[[Any], Any]) -> pa.Table:
    columns = [convert(ARROW[n]) if n in TEXT else ARROW[n] for n in ARROW.column_names]
    return pa.table(columns, names=ARROW.column_names)


FORMS: dict[str, Callable[[], Any]] = {
    "pandas of objects": lambda: pd.DataFrame(VALUES, dtype=object),
    "pandas as it comes": lambda: pd.DataFrame(VALUES),
    "pandas, nullable": lambda: PANDAS,
    "pandas, arrow": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, categories": lambda: PANDAS.astype(dict.fromkeys(TEXT, "category")),
    "polars": lambda: POLARS,
    "polars, categories": lambda: POLARS.with_columns(pl.col(TEXT).cast(pl.Categorical)),
    "polars, enumeration": lambda: POLARS.with_columns(
        pl.col(TEXT).cast(pl.Enum(["unused", "日本", "", "a", "b", "Zé"]))
    ),
    "arrow": lambda: ARROW,
    "arrow, large strings": lambda: with_text_as(lambda column: column.cast(pa.large_string())),
    "arrow, string views": lambda: with_text_as(lambda column: column.cast(pa.string_view())),
    "arrow, dictionaries": lambda: with_text_as(lambda column: column.dictionary_encode()),
    "arrow, chunks": lambda: pa.concat_tables([ARROW[:20], ARROW[20:21], ARROW[21:]]),
    "arrow, chunks of dictionaries": lambda: pa.concat_tables(
        [pa.table(dict(POLARS[a:b].to_arrow().to_pydict())) for a, b in ((0, 20), (20, 60))]
    ),
    "record batch": lambda: ARROW.combine_chunks().to_batches()[0],
    "stream": Stream,
    "interchange": Interchange,
    "list": lambda: [list(row) for row in zip(*VALUES.values(), strict=True)],
    "array of objects": lambda: np.array(list(VALUES.values()), dtype=object).T,
}


def program(X: Any) -> Program:
    """Return a program that reads every column by its position."""
    names = list(X.columns)
    number, text = (
        [names[j] for j, name in enumerate(VALUES) if (name in TEXT) is wanted]
        for wanted in (False, True)
    )
    steps = make_pipeline(SimpleImputer(), StandardScaler())
    estimator = make_column_transformer((steps, number), (OneHotEncoder(), text))
    return Program(estimator, "float64")


def expected() -> Any:
    X = pd.DataFrame(VALUES).astype(dict.fromkeys(NUMERIC, "float64"))
    X[TEXT] = X[TEXT].astype(object).where(X[TEXT].notna(), np.nan)
    steps = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer((steps, NUMERIC), (OneHotEncoder(), TEXT)).fit_transform(X)


@pytest.mark.quick(17)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_what_sklearn_gives(form: str) -> None:
    X = convert(FORMS[form]())
    np.testing.assert_allclose(program(X).fit_transform(X), expected(), rtol=1e-12, atol=1e-12)
    assert object not in set(X.dtypes)
    for name, (given, values) in zip(X.columns, VALUES.items(), strict=True):
        kind = "text" if given in TEXT else "boolean" if "flag" in given else "number"
        assert kind_of(X[name]) == kind
        assert X[name].isna().tolist() == [value is None for value in values]


@pytest.mark.parametrize(
    "X",
    [pd.DataFrame({"a": [1]}), pd.DataFrame({"a": ["x"]}), PANDAS, np.zeros((2, 1))],
    ids=["numbers", "text", "nullable", "array"],
)
def test_nothing_is_copied_that_need_not_be(X: Any) -> None:
    assert convert(X) is X


def test_the_table_of_the_caller_stays_as_it_is() -> None:
    X = pd.DataFrame({"a": np.array([1, None]), "b": [1.0, 2.0]}, index=[7, 8])
    found = convert(X)
    assert (X["a"].dtype, found["a"].dtype) == (object, "Int64")
    assert found.index.tolist() == [7, 8]
    assert np.shares_memory(found["b"].to_numpy(), X["b"].to_numpy())


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["a", None, np.nan, pd.NA], "str"),
        ([1, 2], "Int64"),
        ([1, None], "Int64"),
        ([2**53 + 1, None], "Int64"),
        ([1, 2.5, np.nan], "float64"),
        ([True, False], "boolean"),
        ([True, None], "boolean"),
        ([None, np.nan], "float64"),
        ([pd.Timestamp("2020"), pd.NaT], "datetime64[us]"),
        ([date(2020, 1, 1), None], "datetime64[ms]"),
        ([timedelta(1), None], "timedelta64[us]"),
    ],
    ids=str,
)
def test_objects_get_the_type_they_have(values: list[Any], dtype: str) -> None:
    X = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    found = convert(X)["x"]
    assert str(found.dtype) == dtype
    known = X["x"].notna()
    assert found.isna().tolist() == (~known).tolist()
    assert [pd.Timestamp(v) if isinstance(v, date) else v for v in X["x"][known]] == list(
        found[known]
    )


@pytest.mark.parametrize(
    "values", [["a", 1], [1, True], [2**70], ["\ud800"], [1j], [pd.Period("2020")]], ids=ascii
)
def test_objects_without_one_usable_type_stay(values: list[Any]) -> None:
    X = pd.DataFrame({"x": pd.Series(values, dtype=object), "n": 1})
    assert convert(X) is X


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pa.array([1, None], pa.uint8()), "UInt8"),
        (pa.array([1, 2], pa.int16()), "int16"),
        (pa.array([1.5, None], pa.float32()), "float32"),
        (pa.nulls(2), "float64"),
        (pa.array([0, None], pa.date32()), "datetime64[ms]"),
        (pa.array([0, None], pa.timestamp("s")), "datetime64[s]"),
        (pa.array([0, None], pa.timestamp("ns", "Asia/Tokyo")), "datetime64[ns, Asia/Tokyo]"),
        (pa.array([0, None], pa.duration("ms")), "timedelta64[ms]"),
        (pa.array([3, None]).dictionary_encode(), "category"),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_types_of_arrow(column: pa.Array, dtype: str) -> None:
    found = convert(pa.table({"x": column}))["x"]
    assert str(found.dtype) == dtype
    assert found.isna().tolist() == column.is_null().to_pylist()


def test_a_dictionary_may_repeat_a_value() -> None:
    codes, words = pa.array([0, 1, 2, None]), pa.array(["a", "b", "a"])
    X = convert(pa.table({"x": pa.DictionaryArray.from_arrays(codes, words)}))
    assert X["x"].astype("str").tolist()[:3] == ["a", "b", "a"]
    assert X["x"].isna().tolist() == [False, False, False, True]


@pytest.mark.parametrize("index", [pd.Index([5, 6], name="k"), pd.RangeIndex(5, 7)])
def test_the_index_that_pandas_wrote_is_no_column(index: pd.Index) -> None:
    X = pd.DataFrame({"a": [1, 2]}, index=index)
    pd.testing.assert_frame_equal(convert(pa.Table.from_pandas(X)), X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"1 dimension.*Reshape your data: X\.reshape\(-1, 1\) for one column"),
        (pd.Series([1.0, 2.0]), "1 dimension"),
        (pl.Series([1.0, 2.0]), "1 dimension"),
        (pa.chunked_array([[1.0]]), "1 dimension"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (3, "0 dimension"),
        (None, "0 dimension"),
        (csr_matrix((0, 2)), r"0 sample\(s\)"),
        (coo_array([1.0]), "1 dimension"),
        (csr_array([[1j]]), "X holds complex128 values"),
        (POLARS.lazy(), r"polars\.LazyFrame.*pass X\.collect\(\)"),
        (np.ma.masked_array([[1.0]], mask=[[True]]), r"masked.*filled\(numpy\.nan\)"),
        (np.array([[1j]]), "X holds complex128 values"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pa.table({"a": pa.array([], pa.int64())}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (np.zeros((0, 2)), r"0 sample\(s\)"),
        (pd.DataFrame(index=range(3)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"the same name: \['a'\]; rename them"),
        (pa.table([[1], [2]], names=["a", "a"]), r"the same name: \['a'\]; rename them"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_table_is_refused(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        convert(X)


def test_partitions_are_refused_where_one_table_is_needed() -> None:
    frame = type("DataFrame", (), {"npartitions": 2, "to_delayed": None})()
    with pytest.raises(DataError, match=r"X is partitioned.*X\.compute\(\)"):
        convert(frame)


DAY = date(2020, 1, 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pd.Series(["a", None], dtype=object), Origin(None, None)),
        (pd.Series([None, DAY], dtype=object), Origin(date, np.nan)),
        (pd.Series([True, None], dtype=object), Origin(bool, None)),
        (pd.Series([True, np.nan], dtype=object), Origin(bool, np.nan)),
        (pd.Series([1, None], dtype=object), Origin(int, None)),
        (pd.Series([1.5, None], dtype=object), Origin(None, None)),
        (pd.Series([DAY], dtype=pd.ArrowDtype(pa.date32())), Origin(date, np.nan)),
        (pd.Series(["a", None, np.nan], dtype=object), Origin(None, np.nan)),
        (pd.Series(["a", "b"], dtype=object), None),
        (pd.Series(["a", None], dtype="str"), None),
        (pd.Series([1, None], dtype="Int64"), None),
        (pd.Series(pd.to_datetime(["2020-01-01"])).astype(object), None),
    ],
    ids=lambda each: str(getattr(each, "dtype", each)),
)
def test_what_objects_were_is_known(given: Any, expected: Origin | None) -> None:
    table = given.to_frame("c")
    found = origins(table, convert(table))
    assert repr(found.get("c")) == repr(expected)  # NaN is no equal of itself


def test_nulls_of_arrow_and_polars_are_none_to_numpy() -> None:
    for table in (ARROW, POLARS):
        found = origins(table, convert(table))
        assert found == {"flag, missing": Origin(bool, None), "text, missing": Origin(None, None)}
