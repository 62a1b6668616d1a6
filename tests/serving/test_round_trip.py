"""A loaded model is the saved one, for every transformer and every estimator with a rule."""

from __future__ import annotations

import datetime
import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.special
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import IncrementalPCA, TruncatedSVD
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelEncoder,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils import get_tags
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.errors import ConfigError, PipelineError, Unsupported
from pipeline.serving.load import load
from pipeline.serving.save import About, pack, save
from pipeline.serving.state import decode
from tests import estimators
from tests.commands import ROOT
from tests.model.test_all_estimators import ALL, data, fitted, outcome, same
from tests.names import one_in
from tests.twins.cases import CASES

METHODS = ("predict", "predict_proba", "transform", "decision_function", "score_samples")


def again(model: Accelerated, folder: Path, device: str = "cpu") -> Accelerated:
    return load(save(model, folder / "model"), device)


def answers(model: Accelerated, X: Any) -> dict[str, Any]:
    made = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    return {name: getattr(each, "toarray", lambda e=each: e)() for name, each in made.items()}


def assert_same(loaded: Accelerated, model: Accelerated, X: Any, rtol: float = 0.0) -> None:
    found, wanted = answers(loaded, X), answers(model, X)
    assert found.keys() == wanted.keys() != set()
    for name, value in wanted.items():
        if rtol:
            np.testing.assert_allclose(found[name], value, rtol=rtol, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.quick(17)
@pytest.mark.filterwarnings(
    *("ignore:Feature", "ignore:No feat", "ignore:Bins", "ignore:.* in divide", "ignore:.* in sqrt")
)
@pytest.mark.parametrize("name", CASES)
def test_every_transformer_of_ours_comes_back(tmp_path: Path, name: str) -> None:
    estimator, X, y, *_ = CASES[name]
    if name == "most frequent text":  # a matrix holds no text
        estimator = make_column_transformer(
            (make_pipeline(estimator, OneHotEncoder()), list(X.columns))
        )
    model = Accelerated(clone(estimator), device="cpu", dtype="float64").fit(X, y)
    loaded = again(model, tmp_path)
    with np.errstate(invalid="ignore", divide="ignore"):  # logarithms of negative numbers
        assert_same(loaded, model, X)
    ours, theirs = vars(loaded.to_sklearn()), vars(model.to_sklearn())
    assert ours.keys() == theirs.keys()
    if hasattr(model, "get_feature_names_out"):
        assert (loaded.get_feature_names_out() == model.get_feature_names_out()).all()


@pytest.mark.quick(4)
@pytest.mark.parametrize("case", one_in(4, estimators.CASES), ids=estimators.named)
def test_every_estimator_with_a_rule_comes_back(tmp_path: Path, case: estimators.Case) -> None:
    X, y = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Accelerated(clone(case.estimator), device="cpu").fit(X, y, **case.params)
    loaded = again(model, tmp_path)
    if "labels_" in vars(model.to_sklearn()):
        np.testing.assert_array_equal(loaded.to_sklearn().labels_, model.to_sklearn().labels_)
    # Its components are a part of a matrix, and come back as one of their own: BLAS adds otherwise.
    rtol = 1e-11 if isinstance(case.estimator, IncrementalPCA) else 0.0
    if answers(model, X):
        assert_same(loaded, model, X, rtol)


REFUSED = ("Birch",)
"""Of scikit-learn's estimators; docs/saving.md gives the reason."""


@pytest.mark.quick(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*ALL])
def test_every_estimator_of_scikit_learn_comes_back_or_is_refused(
    tmp_path: Path, name: str
) -> None:
    X, y = data(ALL[name])
    if get_tags(ALL[name]).input_tags.allow_nan:
        X = np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan)
    try:
        model = fitted(Accelerated(clone(ALL[name]), device="cpu"), X, y)
    except (PipelineError, ValueError):
        with pytest.raises(Exception):  # noqa: B017, PT011 - scikit-learn's own
            fitted(clone(ALL[name]), X, y).transform(X)
        return
    if name in REFUSED:
        with pytest.raises(ConfigError, match="cannot be saved without pickle"):
            save(model, tmp_path / "model")
        assert name in (ROOT / "docs/saving.md").read_text("utf-8")
        return
    loaded = again(model, tmp_path)
    for method in (each for each in METHODS if hasattr(model, each)):
        found, wanted = (outcome(partial(getattr(m, method), X)) for m in (loaded, model))
        same(found, wanted)


X_OF_KEYS = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [4.0, 1.0, 1.0], "c": list("xyx")})
NUMERIC = X_OF_KEYS.select_dtypes("number").columns


@pytest.mark.parametrize("library", ["pandas", "polars", "default"])
@pytest.mark.parametrize("after", [False, True])
def test_what_set_output_chose_comes_back(tmp_path: Path, library: str, after: bool) -> None:
    if library == "polars":
        pytest.importorskip("polars")
    scaled = StandardScaler().set_output(transform="pandas")
    model = Accelerated(make_pipeline(scaled, PowerTransformer()), device="cpu")
    if after:
        model.fit(X_OF_KEYS[NUMERIC]).set_output(transform=library)
    else:
        model.set_output(transform=library).fit(X_OF_KEYS[NUMERIC])
    loaded = again(model, tmp_path)
    wanted = model.transform(X_OF_KEYS[NUMERIC])
    for made in (loaded.transform(X_OF_KEYS[NUMERIC]), loaded.fit_transform(X_OF_KEYS[NUMERIC])):
        assert type(made) is type(wanted)
        np.testing.assert_allclose(np.asarray(made), np.asarray(wanted), rtol=1e-12)


def test_text_and_labels_come_back(tmp_path: Path) -> None:
    texts = ["red apple", "green pear", "red cherry", "green apple"]
    model = Accelerated(make_pipeline(TfidfVectorizer(), TruncatedSVD(2)), device="cpu")
    assert_same(again(model.fit(texts), tmp_path), model, texts)
    labels = Accelerated(LabelEncoder(), device="cpu").fit(["b", "a"])
    assert again(labels, tmp_path).transform(["a", "b", "a"]).tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", [3, ("a", 1), "with\nnewline", "日本"])
def test_names_of_columns_may_be_anything(tmp_path: Path, name: Any) -> None:
    X = pd.DataFrame(np.arange(6.0).reshape(3, 2))
    X.columns = pd.Index([name, "other"], tupleize_cols=False)
    model = Accelerated(StandardScaler(), device="cpu").fit(X)
    assert_same(again(model, tmp_path), model, X)


PARAMETERS: dict[str, Any] = {
    "weights by number": LogisticRegression(class_weight={0: 1.0, 1: 5.0}),
    "nested weights": StackingClassifier([("a", LogisticRegression(class_weight={1: 2}))]),
    "a date": SimpleImputer(fill_value=datetime.date(2024, 1, 2)),
    "a scalar": SimpleImputer(fill_value=np.float32(3)),
    "slices": make_column_transformer(
        (StandardScaler(), slice("a", None)), (Normalizer(), [("b", 1)])
    ),
    "a selector": make_column_transformer(
        (StandardScaler(), make_column_selector("n", dtype_include=[np.number, "category", object]))
    ),
    "categories": OneHotEncoder(categories=[[None, "b", 3.5, np.nan]], dtype=np.float32),
    "a type": OrdinalEncoder(dtype=np.dtype("int8")),
    "random numbers": SGDClassifier(random_state=np.random.RandomState(3)),
    "functions": FunctionTransformer(np.log1p, scipy.special.expm1, kw_args={"where": True}),
    "a splitter": TargetEncoder(cv=StratifiedKFold(3, shuffle=True, random_state=1)),
    "a score": SelectKBest(mutual_info_classif, k=1),
    "boosting": XGBClassifier(missing=-1.0, monotone_constraints={"n1": 1}),
}


def value_of(held: Any) -> Any:
    """Return what two parameters that are the same have in common."""
    if hasattr(held, "get_params"):
        return type(held), {name: value_of(each) for name, each in held.get_params(False).items()}
    if isinstance(held, np.random.RandomState):
        return repr(held.get_state())
    if isinstance(held, dict):
        return {key: value_of(value) for key, value in held.items()}
    if isinstance(held, list | tuple):
        return type(held), [value_of(each) for each in held]
    if isinstance(held, make_column_selector | StratifiedKFold):
        return type(held), value_of(vars(held))
    return repr(held)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_come_back(name: str) -> None:
    model = Accelerated(StandardScaler(), device="cpu").fit(np.eye(3))
    model.estimator = PARAMETERS[name]
    files, _ = pack(model, About())
    found = decode(files)[1].estimator
    assert value_of(found) == value_of(PARAMETERS[name])


def test_what_cannot_be_saved_is_refused_with_its_place(tmp_path: Path) -> None:
    def mine(X: Any) -> Any:
        return X

    model = Accelerated(FunctionTransformer(mine), device="cpu").fit(np.eye(3))
    twice = Accelerated(StandardScaler(), device="cpu").fit(np.eye(3))
    for keys in (["1", 1], [True, False], [(1,)]):
        twice.estimator = make_pipeline(LogisticRegression(class_weight=dict.fromkeys(keys, 1.0)))
        says = rf"\.class_weight: a mapping with the keys {re.escape(str(keys))}"
        with pytest.raises(ConfigError, match=says):
            pack(twice, About())
    for each, says in (
        (model, r"cannot be saved without pickle: .*mine; model files support"),
        (LogisticRegression(), "save needs an Accelerated, not LogisticRegression"),
    ):
        with pytest.raises(ConfigError, match=says):
            save(each, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_loaded_estimator_learns_on_and_a_loaded_program_does_not(tmp_path: Path) -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    scaler = Accelerated(StandardScaler(), device="cpu").fit(X)
    loaded = again(scaler, tmp_path)
    with pytest.raises(ConfigError, match="fit again on all rows"):
        loaded.partial_fit(X)
    assert_same(loaded.fit(X * 2), scaler.fit(X * 2), X)
    model = Accelerated(SGDClassifier(random_state=0), device="cpu").fit(X, y)
    assert_same(again(model, tmp_path).partial_fit(X, y), model.partial_fit(X, y), X)


SPARSE = scipy.sparse.csr_array(np.random.default_rng(0).integers(0, 3, (40, 4)).astype(float))
GIVEN: dict[str, Any] = {
    "alone": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
    "transformed": StandardScaler(with_mean=False),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_learnt_from_sparse_rows(name: str, tmp_path: Path) -> None:
    model = Accelerated(GIVEN[name], device="cpu").fit(SPARSE, np.arange(40) % 3)
    loaded = again(model, tmp_path, "auto")
    assert_same(loaded, model, SPARSE)
    assert loaded.n_features_in_ == 4
    assert loaded.plan_.placements == model.plan_.placements
    assert_same(loaded, model, SPARSE.toarray())


def test_what_scikit_learn_runs_as_it_is(tmp_path: Path) -> None:
    X = np.arange(40.0)
    model = Accelerated(IsotonicRegression(), device="cpu").fit(X, X % 3)
    loaded = again(model, tmp_path, "auto")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.plan_.placements[0].note == "run by scikit-learn: it was saved that way"
    with pytest.raises(Unsupported, match="it was saved that way; use device="):
        load(tmp_path / "model", "cuda")
