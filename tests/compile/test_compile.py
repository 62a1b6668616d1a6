from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import NMF, PCA, FastICA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    MaxAbsScaler,
    OneHotEncoder,
    PowerTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from xgboost import XGBClassifier

from pipeline import Accelerated, explain
from pipeline.backends.cpu import HOST
from pipeline.blocks.block import Numbers
from pipeline.compile.compile import compile, compile_step, spec_for
from pipeline.compile.program import Program
from pipeline.compile.rules import columns_read, compile_transformer, selected
from pipeline.compile.spec import RowSpec, spec_of
from pipeline.errors import ConfigError, DataError, Unsupported
from tests.names import plain


def test_one_walk_says_what_runs_each_step_or_why_nothing_does() -> None:
    whole = Pipeline(
        [("s", StandardScaler()), ("off", None), ("ica", FastICA()), ("model", XGBClassifier())]
    )
    scaler, ica, model = compile(whole, RowSpec("cuda")).steps
    assert [op.path for op in (scaler, ica, model)] == ["s", "ica", "model"]
    assert [op.runner for op in (scaler, ica, model)] == ["twin", "scikit-learn", "XGBoost"]
    assert scaler.rule is None
    assert [place.device for place in scaler.placements] == ["cuda"]
    assert [reason.step for reason in ica.refused] == ["ica"]
    assert model.rule is not None
    assert model.placements[0].implementation == "xgboost.XGBClassifier"
    assert [op.rule for op in compile(whole).steps] == [None, HOST, HOST]


@pytest.mark.parametrize(
    ("taker", "why"),
    [
        (LogisticRegression(), ""),
        (XGBClassifier(), ""),
        (RandomForestClassifier(), ""),
        (MaxAbsScaler(), "its rows are sparse"),
    ],
    ids=plain,
)
def test_what_follows_text_is_given_sparse_rows(taker: Any, why: str) -> None:
    last = compile(make_pipeline(TfidfVectorizer(), taker), RowSpec("cuda")).steps[-1]
    assert bool(last.refused) is bool(why)
    assert all(why in reason.why for reason in last.refused)
    assert not compile_step(taker, "model", RowSpec("cuda")).refused


NUMBERS = (StandardScaler(), ["n"])
HOT = make_column_transformer((OneHotEncoder(), ["c"]), NUMBERS)
FEW = "gets sparse rows if less than 0.3 of the values are non-zero"
GIVEN = "gets sparse rows"


MAKERS: dict[str, tuple[Any, str]] = {
    "few": (HOT, FEW),
    "asked to be dense": (
        make_column_transformer((OneHotEncoder(sparse_output=False), ["c"]), NUMBERS),
        "",
    ),
    "text beside numbers": (make_column_transformer((TfidfVectorizer(), "t"), NUMBERS), FEW),
    "scaled": (make_pipeline(HOT, MaxAbsScaler()), FEW),
    "projected to dense": (make_pipeline(HOT, SparseRandomProjection(2, dense_output=True)), ""),
    "alone": (OneHotEncoder(), GIVEN),
    "a union": (make_union(StandardScaler(), OneHotEncoder()), GIVEN),
}


@pytest.mark.parametrize(("maker", "told"), MAKERS.values(), ids=list(MAKERS))
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_rows_that_may_be_sparse_are_told(maker: Any, told: str, device: str) -> None:
    for taker, more in {
        LogisticRegression(): "",
        XGBClassifier(): "sparse rows are copied to the host",
        RandomForestClassifier(): "sparse rows become dense if they fit, and are rejected",
        GaussianNB(): "sparse rows are rejected, as in scikit-learn",
    }.items():
        (place,) = compile(make_pipeline(maker, taker), RowSpec(device)).steps[-1].placements
        assert told in place.note
        assert bool(told) == (GIVEN in place.note)
        assert (more in place.note) == (not more or (device == "cuda" and bool(told)))


HEAD = pd.DataFrame({"a": [1.0], "b": [2], "t": ["x"]})
BOTH = {"a": StandardScaler(), "b": StandardScaler()}


def only(name: str, how: Any, columns: Any, **params: Any) -> ColumnTransformer:
    return ColumnTransformer([(name, how, columns)], **params)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (["t", "a"], ["t", "a"]),
        (("a", "b"), ["a", "b"]),
        ([2, 0], ["t", "a"]),
        ([-1], ["t"]),
        (np.array([1]), ["b"]),
        (np.array(["b"], dtype=object), ["b"]),
        (pd.Index(["b"]), ["b"]),
        ([True, False, True], ["a", "t"]),
        (np.array([False, True, False]), ["b"]),
        (pd.Series([False, True, True], index=["a", "b", "t"]), ["b", "t"]),
        (slice(None), ["a", "b", "t"]),
        (slice(1, None), ["b", "t"]),
        (slice("a", "b"), ["a", "b"]),
        (slice("b", None), ["b", "t"]),
        ([], []),
        (make_column_selector(dtype_include=np.number), ["a", "b"]),
        (make_column_selector(pattern="^[bt]$"), ["b", "t"]),
    ],
    ids=plain,
)
def test_selected_reads_keys_as_sklearn_does(key: Any, expected: list[str]) -> None:
    assert list(selected(spec_of(HEAD), key, "step")) == expected
    estimator = only("x", "passthrough", key)
    if expected:
        fitted = estimator.fit(HEAD)
        assert fitted.get_feature_names_out().tolist() == [f"x__{name}" for name in expected]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (["a", "zz"], "zz"),
        ([7], "must be in"),
        ([True, False], "must be in"),
        (slice("a", "zz"), "zz"),
        (None, "None"),
        ("a", r"not a list; write \['a'\]"),
        (1, r"not a list; write \[1\]"),
        (range(2), r"not a list; write \[0, 1\]"),
    ],
    ids=plain,
)
def test_selected_refuses_bad_keys_with_the_step(key: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        selected(spec_of(HEAD), key, "ct.numbers")
    assert str(caught.value).startswith("ct.numbers: ")


def test_reasons_from_everywhere_come_at_once() -> None:
    estimator = ColumnTransformer(
        [
            ("p", PCA(), ["a"]),
            ("i", SimpleImputer(missing_values=-1, strategy=np.max), ["t"]),
            ("f", StandardScaler(), lambda X: ["b"]),
        ],
        remainder=NMF(),
        transformer_weights={"p": 2.0},
    )
    with pytest.raises(Unsupported) as caught:
        Program(estimator, step="ct").fit(HEAD)
    found = [(reason.step, reason.parameter) for reason in caught.value.reasons]
    assert found == [
        ("ct", "transformer_weights"),
        ("ct.f", None),
        ("ct.p", None),
        ("ct.i", "missing_values"),
        ("ct.i", "strategy"),
        ("ct.remainder", None),
    ]


@pytest.mark.parametrize(
    "steps",
    [
        [("scale", StandardScaler()), ("ct", only("n", StandardScaler(), [0]))],
        [
            ("scale", StandardScaler()),
            ("in", Pipeline([("ct", only("n", StandardScaler(), [0]))])),
        ],
        [("ct1", only("n", StandardScaler(), [0])), ("ct2", only("n", StandardScaler(), [0]))],
    ],
    ids=["second", "first of the second", "two"],
)
def test_column_transformer_after_another_step_is_refused(steps: list[Any]) -> None:
    op = compile_transformer(only("x", Pipeline(steps), ["a", "b"]), "s", RowSpec())
    (reason,) = [reason for each in op.tree for reason in each.reasons]
    assert reason.why == "a ColumnTransformer must be the first step of its pipeline"


@pytest.mark.parametrize(
    ("estimator", "path"),
    [
        (ColumnTransformer([("n", BOTH["a"], ["a"]), ("n", BOTH["b"], ["b"])]), "s"),
        (only("a__b", StandardScaler(), ["a"]), "s"),
        (only("n", Pipeline([("p", BOTH["a"]), ("p", BOTH["b"])]), ["a"]), "s.n"),
    ],
    ids=["twice", "underscores", "twice inside"],
)
def test_names_that_sklearn_refuses(estimator: Any, path: str) -> None:
    with pytest.raises(ConfigError, match=f"^{path}: "):
        Program(estimator, step="s").fit(HEAD)


X = pd.DataFrame(
    {"a": [1.0, 2.0, np.nan, 4.0] * 5, "b": np.arange(20), "t": [*"uvwx"] * 5, "s": ["p", "q"] * 10}
)
BRANCHES = [
    (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
    (OneHotEncoder(), ["t"]),
]
AGREED = {
    "a branch without a twin": make_column_transformer(*BRANCHES, (PCA(1), ["b"])),
    "a column alone": make_column_transformer(*BRANCHES, (CountVectorizer(analyzer="char"), "s")),
    "a function selects": make_column_transformer((StandardScaler(), lambda X: ["b"])),
    "weights": ColumnTransformer([("n", StandardScaler(), ["b"])], transformer_weights={"n": 2}),
    "parameters": make_column_transformer((SimpleImputer(missing_values=-1), ["b"])),
    "nothing selected": make_column_transformer(*BRANCHES, (StandardScaler(), [])),
    "words": make_column_transformer(*BRANCHES, ("drop", ["s"]), remainder="passthrough"),
    "by name": make_column_transformer((SimpleImputer(), make_column_selector("[ab]"))),
    "unions": make_column_transformer(
        (make_union(MaxAbsScaler(), make_pipeline("passthrough", StandardScaler())), ["b"])
    ),
    "nested": make_column_transformer((make_column_transformer(*BRANCHES), ["a", "b", "t"])),
}


@pytest.mark.parametrize("columns", AGREED.values(), ids=list(AGREED))
def test_what_is_compiled_is_what_runs(columns: Any) -> None:
    program = make_pipeline(columns, SelectKBest(k=1), LogisticRegression())
    told = explain(program, "cpu", X).placements
    assert [p.step for p in told] == [p.step for p in explain(program, "cpu").placements]
    ran = Accelerated(program, device="cpu").fit(X, X["b"] > 9).plan_.placements
    for before, after in zip(told, ran, strict=True):
        assert (before.step, before.implementation) == (after.step, after.implementation)
        assert after.note.startswith(before.note)
        assert after.reasons == before.reasons


TEXTS = make_pipeline(TfidfVectorizer(), TruncatedSVD(2))


@pytest.mark.parametrize(
    "first", [TEXTS, make_union(TfidfVectorizer(), CountVectorizer())], ids=["pipeline", "union"]
)
def test_what_follows_a_container_that_runs_as_one_stays_on_its_device(first: Any) -> None:
    for form in ("dense", "sparse"):
        steps = compile(make_pipeline(first, LogisticRegression()), RowSpec("cuda", form)).steps
        assert [op.takes.device for op in steps] == ["cuda", "cuda"]
        assert steps[-1].runner == "cuML"


def test_a_column_alone_makes_what_its_container_makes() -> None:
    words = make_pipeline(CountVectorizer(), TfidfTransformer())
    columns = make_column_transformer((words, "t"), NUMBERS)
    assert [op.out.form for op in compile(columns).children] == ["either", "dense"]


def test_columns_that_are_read_are_those_of_the_first_step_that_does_something() -> None:
    spec = spec_of(X)
    for first in (make_pipeline("passthrough", AGREED["words"]), AGREED["words"]):
        step = compile(make_pipeline(first, LogisticRegression()), spec).steps[0]
        assert columns_read(step) == ["a", "b", "t"]
        assert columns_read(compile(first).steps[-1]) is None
    sparse = X.assign(s=pd.arrays.SparseArray(np.arange(20)))
    assert spec_for(AGREED["words"], sparse, "cpu").form == "dense"
    assert spec_for(SimpleImputer(), sparse[["a", "s"]], "cpu").form == "sparse"
    encoder = compile_transformer(OneHotEncoder(sparse_output=False), "hot", spec)
    assert encoder.out.form == "dense"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (FeatureUnion([]), "the FeatureUnion has no transformers; leave it out"),
        (FeatureUnion(None), "not iterable"),
        (Pipeline([("a", StandardScaler(), 1)]), "steps must be a list of tuples of 2 values"),
        (
            ColumnTransformer([("a", StandardScaler())]),
            "transformers must be a list of tuples of 3 values",
        ),
        (FeatureUnion([("a", StandardScaler)]), "Expected an estimator instance"),
        (Pipeline([]), "has no transform; put it last"),
        (FeatureUnion([("p", make_pipeline("drop"))]), "p.drop: 'drop' is not a scikit-learn"),
        (FeatureUnion([("p", Pipeline([("s", PCA())], verbose=-1))]), "The 'verbose' parameter"),
        (make_column_transformer(*BRANCHES, remainder=7), "The 'remainder' parameter of Column"),
    ],
    ids=range(9),
)
def test_containers_of_another_shape_are_refused_by_name(bad: Any, said: str) -> None:
    for ask in (explain, lambda whole, _: Accelerated(whole, device="cpu").fit(X, X["b"])):
        with pytest.raises(ConfigError, match=re.escape(said)):
            ask(make_pipeline(bad, LogisticRegression()), "cpu")


def test_columns_are_known_of_tables_that_need_no_conversion() -> None:
    assert spec_of(X).names == ("a", "b", "t", "s")
    assert spec_of(X.to_numpy()).names is None
    matrix = spec_of(np.asfortranarray(X[["a", "b"]]))
    assert (matrix.names, matrix.n_rows, matrix.order) == ((0, 1), 20, "F")
    assert spec_of(X[["b"]].astype("Sparse[int64]")).form == "sparse"
    branches = compile(make_column_transformer(*BRANCHES), spec_of(X)).children
    assert [op.columns for op in branches] == [("a", "b"), ("t",)]
    assert [op.out.form for op in branches] == ["dense", "either"]
    first, second = (op.takes for op in branches[0].children)
    assert (first.form, first.names) == ("dense", ("a", "b"))
    assert (second.form, second.names) == ("dense", None)


def test_a_column_transformer_inside_another_knows_its_own_columns() -> None:
    inner = make_column_transformer((StandardScaler(), ["b"]))
    whole = make_column_transformer((inner, ["a", "b"]), ("passthrough", ["a"]))
    lifted = Accelerated(whole, device="cpu").fit(X).to_sklearn()
    plain = whole.fit(X)
    for fitted, expected in (
        (lifted, plain),
        (lifted.transformers_[0][1], plain.transformers_[0][1]),
    ):
        assert fitted.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
        assert fitted.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()


def test_rows_behind_a_step_of_the_host_are_as_dense_as_those_before() -> None:
    whole = make_pipeline(SplineTransformer(), MaxAbsScaler())
    for form, made, why in (("dense", "dense", ""), ("sparse", "unknown", "may be sparse")):
        first, scaler = compile(whole, RowSpec("cuda", form)).steps
        assert (bool(first.refused), first.out.form) == (True, made)
        assert [why in reason.why for reason in scaler.refused] == [True] * bool(why)


def test_rows_behind_dense_components_are_dense() -> None:
    whole = make_pipeline(HOT, GaussianRandomProjection(2), StandardScaler())
    *_, projection, scaler = compile(whole, RowSpec("cuda")).steps
    assert projection.takes.form == "either"
    assert (projection.out.form, scaler.refused) == ("dense", ())


def test_what_another_version_ran_by_a_twin_is_no_twin_when_it_is_loaded() -> None:
    rows = X[["b"]] + 1.0
    columns = make_column_transformer((PowerTransformer("box-cox"), ["b"]))
    step = compile(columns, spec_of(rows))
    fitted = Program(columns, op=step).fit(rows).to_sklearn()
    with pytest.raises(DataError, match=r"powertransformer: the model was saved .* fit it again"):
        Program(columns, step="", op=step).resume(fitted, rows[:1], [Numbers], framed=True)
