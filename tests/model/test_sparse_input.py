"""Sparse rows and sparse columns as X: what scikit-learn makes of them, without a dense copy."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import IncrementalPCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.utils import get_tags
from xgboost import XGBClassifier

from pipeline import Accelerated, explain, load, save
from pipeline.errors import DataError, PipelineError, Unsupported
from tests.model.test_all_estimators import (
    ALL,
    METHODS,
    TABLES,
    UNCHECKED,
    compare,
    data,
    fitted,
    outcome,
    problem,
)

ROWS = 60
FORMS = ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "lil_matrix")
_rng = np.random.default_rng(0)
DENSE = np.where(_rng.random((ROWS, 6)) < 0.6, 0.0, _rng.integers(1, 5, (ROWS, 6)))
Y = (DENSE[:, 0] + DENSE[:, 1] > 2).astype("int64")
X = sp.csr_array(DENSE)
SCALED = make_pipeline(MaxAbsScaler(), LogisticRegression())
TREES = XGBClassifier(n_estimators=5)


def on_cpu(estimator: Any, **settings: Any) -> Accelerated:
    return Accelerated(clone(estimator), device="cpu", **settings)


def never_refused(model: Accelerated) -> None:
    """Nothing was tried in vain, and nothing made dense."""
    assert not model.plan_.as_given
    notes = {place.note for place in model.plan_.placements}
    assert {note for note in notes if not note.startswith("gets sparse rows")} <= {
        "",
        *(
            f"run by scikit-learn: its rows {are} sparse, but only dense rows are supported"
            for are in ("are", "may be")
        ),
    }
    assert "scikit-learn" not in [event.step for event in model.execution_log_.entries]


@pytest.fixture(autouse=True)
def nothing_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no code of ours make sparse rows dense."""
    monkeypatch.setattr("pipeline.compile.program.densify", None)


TAKERS = [name for name in TABLES if get_tags(ALL[name]).input_tags.sparse]


@pytest.mark.quick(32)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TAKERS)
def test_every_estimator_that_takes_sparse_rows(name: str) -> None:
    estimator = ALL[name]
    rows, y = data(estimator)
    form = FORMS[TAKERS.index(name) % len(FORMS)]
    rows = getattr(sp, form)(np.where(rows < 0.3, 0, rows))
    plain = outcome(partial(fitted, clone(estimator), rows, y))
    model = outcome(partial(fitted, Accelerated(estimator, device="auto"), rows, y))
    if isinstance(plain, Exception):
        assert problem(model, plain) == ""
        return
    assert not isinstance(model, Exception), repr(model)
    never_refused(model)
    compare(model, plain, rows, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in TABLES if n not in {*TAKERS, *UNCHECKED}])
def test_the_others_refuse_them_in_scikit_learns_words(name: str) -> None:
    estimator = ALL[name]
    rows, y = data(estimator)
    rows = sp.csr_array(np.where(rows < 0.3, 0, rows))
    plain = outcome(partial(fitted, clone(estimator), rows, y))
    model = outcome(partial(fitted, Accelerated(estimator, device="cpu"), rows, y))
    assert problem(model, plain) == ""
    if isinstance(plain, Exception) and "sparse" in str(plain).lower():
        assert str(model).startswith(str(plain))
        assert isinstance(model, PipelineError)
        assert "pass X.toarray()" in str(model)


ODD: dict[str, Any] = {
    **{form: getattr(sp, form)(DENSE) for form in (*FORMS, "bsr_array", "dok_array", "dia_array")},
    **{kind: X.astype(kind) for kind in ("float32", "int64", "int32", "bool")},
}
ODD["int64 indices"] = sp.csr_array(DENSE)
ODD["int64 indices"].indices = ODD["int64 indices"].indices.astype("int64")
ODD["int64 indices"].indptr = ODD["int64 indices"].indptr.astype("int64")
ODD["in no order"] = sp.csr_array(
    (X.data[::-1].copy(), X.indices[::-1].copy(), (X.nnz - X.indptr)[::-1].copy()), shape=X.shape
)
ODD["twice"] = sp.csr_array(
    (np.repeat(X.data, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape
)
ODD["zeros that are stored"] = X.copy()
ODD["zeros that are stored"].data[::3] = 0

CHAINS: dict[str, Any] = {
    "scaled": SCALED,
    "components": make_pipeline(TruncatedSVD(2, random_state=0), Ridge()),
    "selected": make_pipeline(SelectKBest(chi2, k=3), MultinomialNB()),
    "polynomial": make_pipeline(PolynomialFeatures(2), Ridge()),
    "by position": make_pipeline(
        make_column_transformer((MaxAbsScaler(), [0, 2]), ("passthrough", slice(3, 5))), Ridge()
    ),
    "chained in branches": make_column_transformer(
        (make_pipeline(MaxAbsScaler(), Normalizer()), [0, 1]),
        remainder=StandardScaler(with_mean=False),
    ),
    "alone": MaxAbsScaler(),
    "trees": TREES,
}


def answers(model: Any, rows: Any) -> dict[str, np.ndarray]:
    known = {m: getattr(model, m)(rows) for m in METHODS[:-1] if hasattr(model, m)}
    return {m: made.toarray() if sp.issparse(made) else made for m, made in known.items()}


def assert_same(found: Any, expected: Any, rows: Any) -> None:
    made, wanted = answers(found, rows), answers(expected, rows)
    assert set(made) >= set(wanted)
    for method, value in wanted.items():
        assert made[method].dtype == value.dtype
        np.testing.assert_array_equal(made[method], value)


def seeded(estimator: Any) -> Any:
    seeds = [name for name in estimator.get_params() if name.endswith("__random_state")]
    return clone(estimator).set_params(**dict.fromkeys(seeds, 0))


@pytest.mark.quick(49)
@pytest.mark.parametrize("rows", ODD)
@pytest.mark.parametrize("name", ["scaled", "selected", "components", "trees"])
def test_rows_of_every_form(name: str, rows: str) -> None:
    plain, given = seeded(CHAINS[name]), ODD[rows]
    before = given.toarray()
    plain = outcome(lambda: plain.fit(given.copy(), Y))
    model = outcome(lambda: on_cpu(seeded(CHAINS[name])).fit(given, Y))
    if isinstance(plain, Exception):  # XGBoost's begin with the time of day
        assert isinstance(model, type(plain))
        return
    never_refused(model)
    assert_same(model, plain, given)
    np.testing.assert_array_equal(given.toarray(), before)


@pytest.mark.quick(11)
@pytest.mark.parametrize("name", CHAINS)
def test_pipelines_that_begin_with_sparse_rows(name: str, tmp_path: Path) -> None:
    plain = seeded(CHAINS[name]).fit(X, Y)
    model = on_cpu(seeded(CHAINS[name])).fit(X, Y)
    never_refused(model)
    assert_same(model, plain, X)
    assert_same(model.to_sklearn(), plain, X)
    assert model.certify(X).holds
    told = explain(CHAINS[name], "cpu", X)
    assert {p.step: p.implementation for p in told.placements} == {
        p.step: p.implementation for p in model.plan_.placements
    }
    save(model, tmp_path / "m.model")
    assert_same(load(tmp_path / "m.model", device="cpu"), plain, X)


@pytest.mark.quick(22)
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("learnt", ["sparse", "dense"])
def test_rows_of_another_form_than_those_of_the_fit(name: str, learnt: str) -> None:
    fit, new = (X, DENSE) if learnt == "sparse" else (DENSE, X)
    plain = seeded(CHAINS[name]).fit(fit, Y)
    model = on_cpu(seeded(CHAINS[name])).fit(fit, Y)
    made, wanted = answers(model, new), answers(plain, new)
    for method, value in wanted.items():
        np.testing.assert_allclose(made[method], value, rtol=1e-9, atol=1e-9)
    if hasattr(plain, "score"):
        assert model.score(new, Y) == pytest.approx(plain.score(new, Y))
    assert model.certify(new).holds


def test_what_is_stored_may_be_missing() -> None:
    holes = X.copy()
    holes.data[::5] = np.nan
    for estimator in (make_pipeline(SimpleImputer(), Ridge()), TREES, MaxAbsScaler()):
        model = on_cpu(estimator).fit(holes, Y)
        assert_same(model, clone(estimator).fit(holes, Y), holes)
        never_refused(model)


def test_what_is_given_to_the_fit_of_trees() -> None:
    weights, half = np.linspace(1, 2, ROWS), ROWS // 2
    trees = XGBClassifier(n_estimators=30, early_stopping_rounds=3, eval_metric="logloss")
    given = {"sample_weight": weights[:half], "eval_set": [(X[half:], Y[half:])], "verbose": False}
    plain = clone(trees).fit(X[:half], Y[:half], **given)
    model = on_cpu(trees).fit(X[:half], Y[:half], **given)
    assert_same(model, plain, X)
    assert model.best_iteration == plain.best_iteration
    # Those of a pipeline are prepared like X.
    scaler = MaxAbsScaler().fit(X[:half])
    given["eval_set"] = [(scaler.transform(X[half:]), Y[half:])]
    plain = clone(trees).fit(scaler.transform(X[:half]), Y[:half], **given)
    given["eval_set"] = [(X[half:], Y[half:])]
    model = on_cpu(make_pipeline(MaxAbsScaler(), trees)).fit(X[:half], Y[:half], **given)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(scaler.transform(X)))
    never_refused(model)


BATCHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sgd": (SGDClassifier(random_state=0), {"classes": [0, 1]}),
    "bayes": (MultinomialNB(), {"classes": [0, 1]}),
    "scaler": (MaxAbsScaler(), {}),
    "not centred": (StandardScaler(with_mean=False), {}),
}


@pytest.mark.parametrize("first", ["sparse", "dense"])
@pytest.mark.parametrize("second", ["sparse", "dense"])
@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str, first: str, second: str) -> None:
    estimator, given = BATCHES[name]
    plain, model = clone(estimator), on_cpu(estimator)
    for form, rows in ((first, slice(0, 30)), (second, slice(30, 60)), (first, slice(0, 20))):
        batch = (X if form == "sparse" else DENSE)[rows]
        plain.partial_fit(batch, Y[rows], **given)
        if not given and (first, form) == ("dense", "sparse"):
            with pytest.raises(DataError, match="earlier batches were dense; pass X.toarray"):
                model.partial_fit(batch)
            return
        model.partial_fit(batch, Y[rows], **given)
    made, wanted = answers(model, X), answers(plain, X)
    for method, value in wanted.items():
        np.testing.assert_allclose(made[method], value, rtol=1e-9, atol=1e-9)


def test_batches_that_scikit_learn_does_not_learn_from() -> None:
    model = on_cpu(make_column_transformer((MaxAbsScaler(), [0, 1]), (Normalizer(), [2])))
    with pytest.raises((Unsupported, AttributeError), match="has no partial_fit for it"):
        model.partial_fit(X)
    with pytest.raises(TypeError, match="partial_fit does not support sparse.*\nX is sparse"):
        on_cpu(IncrementalPCA(2)).partial_fit(X)


COLUMNS = pd.DataFrame(DENSE[:, :3], columns=["a", "b", "c"]).astype(pd.SparseDtype("float64", 0.0))
COLUMNS["counts"] = pd.arrays.SparseArray(DENSE[:, 3].astype("int64"))
COLUMNS["flag"] = pd.arrays.SparseArray(DENSE[:, 4] > 0)
MIXED = COLUMNS.assign(
    n=DENSE[:, 5], t=_rng.choice(list("xyz"), ROWS), k=pd.Categorical(_rng.choice(["u", "v"], ROWS))
)
HOT = OneHotEncoder(handle_unknown="ignore")
OF_COLUMNS: dict[str, tuple[Any, pd.DataFrame]] = {
    "scaled": (SCALED, COLUMNS),
    "some": (Ridge(), COLUMNS.assign(n=DENSE[:, 5])),
    "beside text": (
        make_column_transformer((MaxAbsScaler(), ["a", "b"]), (HOT, ["t", "k"])),
        MIXED,
    ),
    "passed on": (
        make_column_transformer(
            ("passthrough", ["a", "counts"]), (HOT, ["t"]), (StandardScaler(), ["n"])
        ),
        MIXED,
    ),
    "what remains": (
        make_pipeline(
            make_column_transformer((HOT, ["t", "k"]), remainder="passthrough"),
            LogisticRegression(),
        ),
        MIXED,
    ),
}


# scikit-learn and XGBoost make some sparse columns dense, and say so.
DENSIFIED = pytest.mark.filterwarnings("ignore:.*converted (in)?to:UserWarning")


@pytest.mark.quick(7)
@DENSIFIED
@pytest.mark.parametrize("name", OF_COLUMNS)
def test_sparse_columns(name: str, tmp_path: Path) -> None:
    estimator, table = OF_COLUMNS[name]
    plain, model = clone(estimator).fit(table, Y), on_cpu(estimator).fit(table, Y)
    never_refused(model)
    new = table.iloc[::-1]
    assert_same(model, plain, new)
    assert_same(model.to_sklearn(), plain, new)
    for method in ("transform", "predict"):
        if hasattr(plain, method):
            made, wanted = (getattr(m, method)(new) for m in (model, plain))
            assert type(made) is type(wanted)
    save(model, tmp_path / "m.model")
    assert_same(load(tmp_path / "m.model", device="cpu"), plain, new)


@pytest.mark.parametrize(
    ("estimator", "device", "sparse"),
    [
        (Ridge(), "cpu", True),
        (GaussianNB(), "cpu", False),
        (Ridge(), "cuda", True),
        (MaxAbsScaler(), "cuda", False),
        (Pipeline(SCALED.steps), "cuda", False),
        (make_pipeline(TfidfTransformer(), Ridge()), "cuda", True),
        (MaxAbsScaler(), "auto", True),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_tags_say_what_takes_sparse_rows(estimator: Any, device: str, sparse: bool) -> None:
    assert get_tags(Accelerated(estimator, device=device)).input_tags.sparse is sparse
