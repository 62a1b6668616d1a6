from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.preprocessing import StandardScaler

from pipeline.errors import DataError
from pipeline.table import encode, frames
from pipeline.table.convert import convert
from pipeline.table.schema import Schema, kind_of
from tests.twins.columns import BOOLEANS, NUMBERS, TEXT

DATE = pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"]))
FITTED = pd.DataFrame(
    {
        "number": [1.0, 2.0],
        "flag": [True, False],
        "text": ["a", "b"],
        "size": pd.Series(["S", "M"], dtype="category"),
        "rank": pd.Series([1, 2], dtype="category"),
        "day": DATE,
        "moment": DATE.dt.tz_localize("Europe/Berlin"),
        "gap": DATE - DATE[0],
    }
)
SCHEMA, _ = Schema.fit(FITTED)


def given(**columns: Any) -> pd.DataFrame:
    """Return the table of the fit with some columns as they come at predict."""
    return convert(FITTED.assign(**{name: pd.Series(column) for name, column in columns.items()}))


def check(**columns: Any) -> pd.DataFrame:
    return SCHEMA.take(given(**columns))


@pytest.mark.parametrize(
    ("columns", "kind"), [(NUMBERS, "number"), (BOOLEANS, "boolean"), (TEXT, "text")]
)
def test_kinds_of_every_type(columns: dict[str, pd.Series], kind: str) -> None:
    found = {name: kind_of(convert(pd.DataFrame({name: columns[name]}))[name]) for name in columns}
    assert found == dict.fromkeys(columns, kind)


def test_columns_come_by_name_and_a_table_in_order_as_it_is() -> None:
    assert SCHEMA.take(FITTED) is FITTED
    pd.testing.assert_frame_equal(SCHEMA.take(FITTED[FITTED.columns[::-1]]), FITTED)


def test_extra_columns_are_left_out() -> None:
    X = SCHEMA.take(FITTED.assign(more=1, odd=[["x"], ["y"]]))
    assert list(X.columns) == list(FITTED.columns)


@pytest.mark.parametrize(
    ("fitted", "names"), [("ab", "ba"), ("ab", "abc"), ("abcdefgh", "a"), ("ab", "bcdefghi")]
)
def test_columns_in_order_are_demanded_as_scikit_learn_does(fitted: str, names: str) -> None:
    def table(names: str) -> pd.DataFrame:
        return pd.DataFrame(np.zeros((2, len(names))), columns=list(names))

    schema, _ = Schema.fit(table(fitted))
    schema.in_order = True
    with pytest.raises(ValueError, match="feature names should match") as theirs:
        StandardScaler().fit(table(fitted)).transform(table(names))
    with pytest.raises(DataError) as ours:
        schema.take(table(names))
    assert str(ours.value).startswith(str(theirs.value))
    assert "or begin with a ColumnTransformer" in str(ours.value)


def test_missing_columns_are_named() -> None:
    with pytest.raises(DataError, match=r"X lacks the columns \['flag', 'text'\]"):
        SCHEMA.take(FITTED.drop(columns=["text", "flag"]))


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        (
            "number",
            [None, "low"],
            r"holds text, such as 'low' in row 1, .* on numbers; .*to_num",
        ),
        ("number", pd.Series(["x", "y"], dtype="category"), "holds text, such as 'x' in row 0"),
        ("flag", ["yes", "no"], "holds text, such as 'yes' in row 0, .*fitted on booleans; .*map"),
        ("number", DATE, "holds dates, .* fitted on numbers"),
        ("day", ["2020-01-01", None], r"holds text, .* fitted on dates; .*pandas\.to_datetime"),
        ("day", [1, 2], "holds numbers, such as 1 in row 0, .* fitted on dates"),
        ("gap", [1, 2], r"fitted on durations; .*to_timedelta"),
        ("rank", ["1", "2"], "holds text, .* fitted on numbers"),
    ],
)
def test_what_cannot_stand_for_the_fitted_is_refused(name: str, column: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^column '{name}' .*{message}"):
        check(**{name: column})


@pytest.mark.parametrize("name", ["text", "size"])
@pytest.mark.parametrize("column", [[1, 2], [np.nan, 0.5], [True, False]], ids=str)
def test_numbers_where_text_was_fitted_are_refused(name: str, column: Any) -> None:
    with pytest.raises(DataError, match=rf"column '{name}' .* fitted on text; .*astype\('str'\)"):
        check(**{name: column})


@pytest.mark.parametrize("name", FITTED.columns)
@pytest.mark.parametrize(
    "column",
    [
        pd.Series([None, None], dtype=object),
        pd.Series([np.nan, np.nan]),
        pd.Series([None, None], dtype="str"),
        pd.Series([pd.NaT, pd.NaT]),
        pd.Series([pd.NA, pd.NA], dtype="Int64"),
        pd.Series([None, None], dtype="category"),
        pd.Series([None, None], dtype=pd.ArrowDtype(pa.null())),
    ],
    ids=lambda column: str(column.dtype),
)
def test_a_column_without_values_is_missing_values_of_its_kind(name: str, column: Any) -> None:
    found = check(**{name: column})[name]
    assert found.isna().all()
    kind = kind_of(FITTED[name])
    assert kind_of(found) == kind or {kind, kind_of(found)} == {"number", "boolean"}
    read = frames.datetimes if name in ("day", "moment") else encode.categories
    if kind != "duration":
        read(found.to_frame(name), name)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("number", [1, 2]),
        ("number", [True, False]),
        ("flag", [1.0, 0.0]),
        ("flag", [1, None]),
        ("text", pd.Series(["a", "new"], dtype="category")),
        ("size", ["S", None]),
        ("rank", [2, 1]),
        ("day", DATE.astype("datetime64[s]")),
    ],
)
def test_types_of_the_same_kind_pass_as_they_are(name: str, column: Any) -> None:
    X = given(**{name: column})
    assert SCHEMA.take(X) is X


def test_categories_of_numbers_become_numbers_again() -> None:
    found = check(number=pd.Series([3, None], dtype="category"))["number"]
    assert frames.numbers(found.to_frame("n"), "n")[0] == 3


def test_dates_come_to_the_clock_they_were_fitted_on() -> None:
    tokyo = FITTED["moment"].dt.tz_convert("Asia/Tokyo")
    pd.testing.assert_frame_equal(check(moment=tokyo), FITTED)


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("moment", DATE, "has no time zone, but was fitted with the time zone Europe/Berlin"),
        ("day", FITTED["moment"], "has the time zone Europe/Berlin, but was fitted with no time"),
    ],
)
def test_dates_with_and_without_a_zone_are_no_equals(name: str, column: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"column '{name}' {message}.*tz_localize"):
        check(**{name: column})


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", 1], r"several types: 'a' in row 0 and 1 in row 1, .*convert it"),
        ([None, 2, True], r"several types: 2 in row 1 and True in row 2"),
        ([2**70], rf"holds int values, such as {2**70} in row 0"),
        ([1j], r"holds complex values, such as 1j"),
        ([b"x"], r"such as b'x' in row 0, .*decode"),
        ([[1, 2]], r"holds list.*split lists"),
    ],
    ids=ascii,
)
def test_what_no_step_takes_is_refused_at_fit(column: Any, message: str) -> None:
    values = pd.Series(column, dtype=object) if isinstance(column, list) else column
    with pytest.raises(DataError, match=f"^column 'x' .*{message}"):
        Schema.fit(pd.DataFrame({"x": values}))


def test_what_is_not_used_may_hold_anything() -> None:
    X = pd.DataFrame({"n": [1.0, 2.0], "odd": pd.Series(["a", 1], dtype=object), "t": ["x", "y"]})
    schema, found = Schema.fit(X, lambda head: ["n"])
    pd.testing.assert_frame_equal(schema.take(X), found)
    assert found["odd"].isna().all()
    assert found[["n", "t"]].equals(X[["n", "t"]])
    assert schema.take(X.assign(t=[1, 2], odd=0))["t"].tolist() == [1, 2]
    with pytest.raises(DataError, match="column 'n'"):
        schema.take(X.assign(n="x"))


def test_the_table_of_the_caller_stays_as_it_is() -> None:
    X = FITTED.assign(text=np.nan)
    before = X.copy()
    SCHEMA.take(X)
    pd.testing.assert_frame_equal(X, before)


def test_matrices_go_by_position() -> None:
    schema, _ = Schema.fit(np.zeros((2, 2)))
    assert schema.names is None
    with pytest.warns(UserWarning, match="matched by position"):
        assert schema.take(pd.DataFrame({"b": [1], "a": [2]})).tolist() == [[1.0, 2.0]]
    with pytest.raises(DataError, match="X has 3 features, but Accelerated is expecting 2"):
        schema.take(np.zeros((1, 3)))


@pytest.mark.parametrize("X", [np.zeros((2, 8)), FITTED.to_numpy()], ids=["numbers", "objects"])
def test_a_matrix_after_a_frame_with_names_is_refused(X: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"pass a frame with the columns \['number', 'flag'"):
        SCHEMA.take(X)


def test_a_matrix_after_a_frame_without_names() -> None:
    schema, _ = Schema.fit([[1, "a"], [2, "b"]])
    assert schema.take([[3, "c"]])[1].tolist() == ["c"]
    with pytest.raises(DataError, match="column 1 holds numbers, such as 4.0 in row 0"):
        schema.take(np.array([[3.0, 4.0]]))


def test_categories_of_one_type_are_taken_without_a_look() -> None:
    X = pd.DataFrame({"t": pd.Categorical(["a"]), "d": pd.Categorical([1])})
    schema, _ = Schema.fit(X)
    assert schema.knows(X.assign(t=pd.Categorical(["b"])))
    assert schema.knows(X.assign(d=pd.Categorical([1.5])))
    assert not schema.knows(X.assign(d=pd.Categorical(["b"])))
    assert not schema.knows(X.assign(t="a"))
    mixed = X.assign(t=pd.Categorical(["b"], categories=pd.Index(["b", 1], dtype=object)))
    assert not schema.knows(mixed)


def test_missing_dates_without_the_zone_of_the_fit_are_not_remembered() -> None:
    X = pd.DataFrame({"d": pd.to_datetime(["2024-01-01"]).tz_localize("UTC")})
    schema, _ = Schema.fit(X)
    schema.take(X.assign(d=pd.to_datetime([None])))
    for unit in ("ns", "s"):
        with pytest.raises(DataError, match="has no time zone, but was fitted with the time zone"):
            schema.take(X.assign(d=pd.to_datetime(["2024-01-01"]).as_unit(unit)))


def test_types_that_were_taken_are_taken_again_without_a_look() -> None:
    X = pd.DataFrame({"n": [1.0], "t": pd.Series(["a"], dtype="str")})
    schema, _ = Schema.fit(X)
    schema._taken = None
    assert schema.take(X) is X
    assert schema.knows(X.astype({"n": "float32"}))
    assert not schema.knows(X.astype({"n": bool}))
    assert not schema.knows(X.astype({"n": "datetime64[ns]"}))
    assert not schema.knows(X.astype({"t": "category"}))
    other = X.assign(n="?")
    with pytest.raises(DataError, match="holds text"):
        schema.take(other)
    with pytest.raises(DataError, match="0 sample"):
        schema.take(X[:0])
    objects = X.astype({"t": object})
    assert schema.take(objects) is not objects
