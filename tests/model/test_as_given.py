"""What scikit-learn runs, runs: what the engine refuses is given to it as it is, on the CPU."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from pipeline import Accelerated, load, save
from pipeline.compile.plan import Step
from pipeline.compile.program import Program
from pipeline.errors import BudgetExceeded, ConfigError, DataError, in_both_words
from pipeline.twins.encoders import OneHotEncoderTwin
from pipeline.twins.imputers import SimpleImputerTwin
from pipeline.twins.scalers import StandardScalerTwin

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ROWS = 40
_rng = np.random.default_rng(0)
DENSE = np.where(_rng.random((ROWS, 5)) < 0.5, 0, _rng.random((ROWS, 5)))
CLASSES = (DENSE[:, 0] > DENSE[:, 1]).astype(int)
NUMBERS = DENSE @ np.arange(5.0)
TEXTS = [f"row {i % 7} of {'few' if c else 'many'}" for i, c in enumerate(CLASSES)]
FRAME = pd.DataFrame(DENSE, columns=list("abcde"))


class Plain:
    """Fits and predicts, and is nobody's child."""

    def fit(self, X: Any, y: Any) -> Plain:
        self.mean_ = np.mean(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)


class Centred:
    """Fits and transforms, and is nobody's child."""

    def fit(self, X: Any, y: Any = None) -> Centred:
        self.mean_ = np.mean(np.asarray(X), axis=0)
        return self

    def transform(self, X: Any) -> Any:
        return np.asarray(X) - self.mean_


class Cubes(TransformerMixin, BaseEstimator):
    """Takes three dimensions."""

    def fit(self, X: Any, y: Any = None) -> Cubes:
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        assert np.ndim(X) == 3
        return np.reshape(X, (len(X), -1))


class AnyBut(ClassifierMixin, BaseEstimator):
    """Answers for rows that it must see as they are."""

    def fit(self, X: Any, y: Any) -> AnyBut:
        self.classes_, self.kind_ = np.unique(y), type(X)
        return self

    def predict(self, X: Any) -> Any:
        assert type(X) is self.kind_
        return np.full(len(X), self.classes_[0])


class Case(NamedTuple):
    estimator: Any
    X: Any
    y: Any = None
    methods: tuple[str, ...] = ("predict",)


SCALED = make_pipeline(MaxAbsScaler(), LogisticRegression())
PROBABILITIES = ("predict", "predict_proba", "score")
CASES = {
    **{
        f"{make.__name__}, scaled": Case(clone(SCALED), make(DENSE), CLASSES, PROBABILITIES)
        for make in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array, sp.coo_array)
    },
    "sparse, in branches": Case(
        make_column_transformer((MaxAbsScaler(), [0]), remainder="passthrough"),
        sp.csc_array(DENSE),
        None,
        ("transform",),
    ),
    "three dimensions": Case(
        make_pipeline(Cubes(), StandardScaler(), Ridge()), _rng.random((ROWS, 2, 3)), NUMBERS
    ),
    "a frame of targets": Case(
        make_pipeline(StandardScaler(), LinearRegression()),
        FRAME,
        pd.DataFrame({"p": NUMBERS, "q": CLASSES}),
        ("predict", "score"),
    ),
    "duck": Case(Plain(), DENSE, NUMBERS),
    "a duck before": Case(make_pipeline(Centred(), Ridge()), DENSE, NUMBERS, ("predict", "score")),
    "lists": Case(AnyBut(), [[1, [2]], [3, [4]]], [0, 1]),
    "objects of many types": Case(
        make_pipeline(make_column_transformer((OrdinalEncoder(), [0])), Ridge()),
        np.array([["1", 2]] * 4 + [["2", "x"]] * 4, dtype=object),
        np.arange(8.0),
    ),
    "numbers as text": Case(StandardScaler(), DENSE.astype(str), None, ("transform",)),
}


def dense(made: Any) -> Any:
    return made.toarray() if sp.issparse(made) else made


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif getattr(expected, "dtype", np.dtype(float)).kind in "OUS":
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(dense(found), dense(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.quick(50)
@pytest.mark.parametrize("device", ["cpu", "auto"])
@pytest.mark.parametrize("name", CASES)
def test_what_scikit_learn_runs_runs(name: str, device: str) -> None:
    estimator, X, y, methods = CASES[name]
    plain = clone(estimator, safe=False)
    plain.fit(X) if y is None else plain.fit(X, y)
    model = Accelerated(estimator, device=device)
    assert model.fit(X, y) is model
    for method in methods:
        asked = (X, y) if method == "score" else (X,)
        same(getattr(model, method)(*asked), getattr(plain, method)(*asked))
    for attribute in ("n_features_in_", "feature_names_in_", "classes_"):
        if hasattr(plain, attribute):
            np.testing.assert_array_equal(getattr(model, attribute), getattr(plain, attribute))
    assert pickle.loads(pickle.dumps(model)).device_ == "cpu"


SPARSE = CASES["csr_array, scaled"]


def named(X: pd.DataFrame) -> pd.DataFrame:
    return X.assign(e=["?"] * len(X))


class Bad(NamedTuple):
    estimator: Any
    X: Any
    y: Any
    ours: str


ALONE, BOTH = StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression())
BAD = {
    "text": Bad(BOTH, named(FRAME), CLASSES, "column 'e' holds"),
    "infinite": Bad(BOTH, np.where(DENSE > 0.9, np.inf, DENSE), CLASSES, "infinite values"),
    "no rows": Bad(BOTH, DENSE[:0], CLASSES[:0], r"X has 0 sample\(s\)"),
    "a vector": Bad(BOTH, DENSE[0], CLASSES, "but a table has 2"),
    "complex": Bad(BOTH, DENSE.astype(complex), CLASSES, "pass real numbers"),
    "missing targets": Bad(
        LogisticRegression(), DENSE, np.where(CLASSES, np.nan, 1), "missing values; drop"
    ),
    "sparse": Bad(
        make_pipeline(OrdinalEncoder(), Ridge()), SPARSE.X, CLASSES, r"pass X.toarray\(\)"
    ),
    "a parameter inside": Bad(
        make_pipeline(SimpleImputer(strategy="best"), Ridge()), DENSE, CLASSES, "strategy"
    ),
    "no such column": Bad(
        make_column_transformer((StandardScaler(), ["z"])), FRAME, None, "the table has the columns"
    ),
    "no estimator": Bad(make_pipeline(3, Ridge()), DENSE, CLASSES, "is not a scikit-learn"),
}


def raised(work: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of any class
        work()
    return caught.value


@pytest.mark.parametrize("name", BAD)
def test_what_both_refuse_is_told_in_both_words(name: str) -> None:
    estimator, X, y, ours = BAD[name]
    theirs = raised(lambda: clone(estimator, safe=False).fit(X, y))
    model = Accelerated(estimator, device="cpu")
    found = raised(lambda: model.fit(X, y))
    assert isinstance(found, DataError | ConfigError)
    assert isinstance(found, type(theirs))
    assert found.exit_code in (2, 65)
    assert re.search(ours, str(found))
    said = str(theirs.args[0]).partition("\n")[0]
    assert str(found).startswith(said) or said in str(found)
    assert not hasattr(model, "plan_")
    copy = pickle.loads(pickle.dumps(found))
    assert (str(copy), isinstance(copy, type(theirs))) == (str(found), True)


def test_the_earlier_fit_stays() -> None:
    model = Accelerated(clone(BOTH), device="cpu").fit(DENSE, CLASSES)
    expected = model.predict_proba(DENSE)
    for X, y in ((SPARSE.X, CLASSES), (DENSE[:0], CLASSES[:0]), (named(FRAME), CLASSES)):
        with pytest.raises(DataError):
            model.fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(DENSE), expected)


WRONG = {
    "another width": (FRAME[["a", "b"]], BOTH),
    "text": (named(FRAME), BOTH),
    "a new category": (
        pd.DataFrame({"a": ["new"]}),
        make_pipeline(OneHotEncoder(), LogisticRegression()),
    ),
    "no rows": (FRAME[:0], BOTH),
    "infinite": (FRAME.assign(a=np.inf), BOTH),
}


@pytest.mark.parametrize("name", WRONG)
def test_rows_that_both_refuse(name: str) -> None:
    X, estimator = WRONG[name]
    rows = pd.DataFrame({"a": TEXTS}) if list(X) == ["a"] else FRAME
    plain = clone(estimator).fit(rows, CLASSES)
    model = Accelerated(estimator, device="cpu").fit(rows, CLASSES)
    theirs, found = raised(lambda: plain.predict(X)), raised(lambda: model.predict(X))
    assert isinstance(found, DataError)
    assert isinstance(found, type(theirs))
    assert str(found).startswith(str(theirs))
    assert len(str(found)) > len(str(theirs))


def test_long_trainings_are_not_repeated() -> None:
    calls = []

    class Tired(ClassifierMixin, BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            calls.append(len(X))
            raise ValueError("no convergence")

        def predict(self, X: Any) -> Any:
            return X

    with pytest.raises(ValueError, match="no convergence"):
        Accelerated(make_pipeline(StandardScaler(), Tired()), device="cpu").fit(DENSE, CLASSES)
    assert calls == [ROWS]


MIXED = FRAME.assign(a=FRAME["a"].where(FRAME["a"] > 0), t=pd.Series(TEXTS).str[:5])
NUMERIC = make_pipeline(SimpleImputer(), StandardScaler())
WHOLE = make_pipeline(
    make_column_transformer((NUMERIC, ["a", "b"]), (OneHotEncoder(), ["t"])), LogisticRegression()
)
SCALER = "columntransformer.pipeline.standardscaler"


def plant(monkeypatch: pytest.MonkeyPatch, twin: Any, method: str, error: Exception) -> None:
    def raises(*args: Any) -> Any:
        raise error

    monkeypatch.setattr(twin, method, raises)


@pytest.mark.parametrize("fault", [AttributeError, KeyError, NotImplementedError, ValueError])
@pytest.mark.parametrize(
    ("twin", "method"),
    [
        (SimpleImputerTwin, "finalize"),
        (StandardScalerTwin, "statistics"),
        (OneHotEncoderTwin, "apply"),
    ],
)
def test_a_fault_is_seen_with_the_name_of_its_step(
    twin: Any, method: str, fault: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = Accelerated(WHOLE, device="cpu").fit(MIXED, CLASSES)
    plant(monkeypatch, twin, method, fault("planted"))
    work = [lambda: Accelerated(WHOLE, device="auto").fit(MIXED, CLASSES)]
    work += [lambda: fitted.predict(MIXED)] if method == "apply" else []
    for each in work:
        found = raised(each)
        assert (type(found), found.args) == (fault, ("planted",))
        assert found.__notes__[0].startswith(("in the step columntransformer", "in SimpleImputer"))


def test_scikit_learn_runs_the_one_step_that_refuses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = clone(WHOLE).fit(MIXED, CLASSES)
    plant(monkeypatch, StandardScalerTwin, "statistics", DataError("not these rows"))
    model = Accelerated(WHOLE, device="cpu").fit(MIXED, CLASSES)
    same(model.predict_proba(MIXED), plain.predict_proba(MIXED))
    assert not model.plan_.as_given
    runs = {place.step: place for place in model.plan_.placements}
    assert runs[SCALER].implementation == "sklearn.StandardScaler"
    assert "not these rows" in runs[SCALER].note
    others = [place.implementation for step, place in runs.items() if step != SCALER]
    assert others.count("pipeline (NumPy)") == 2
    save(model, tmp_path / "model")
    same(load(tmp_path / "model", device="cpu").predict_proba(MIXED), plain.predict_proba(MIXED))


def test_what_only_new_rows_show_is_asked_of_the_lifted_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Accelerated(WHOLE, device="cpu").fit(MIXED, CLASSES)
    expected = model.predict_proba(MIXED)
    plant(monkeypatch, OneHotEncoderTwin, "apply", DataError("not these rows"))
    same(model.predict_proba(MIXED), expected)
    assert model.execution_log_.last is not None
    assert "not these rows" in str(model.execution_log_.last.events[-1].why)


def test_partitions_are_not_gathered_for_a_step_that_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, StandardScalerTwin, "finalize", DataError("not these rows"))
    partitions = pytest.importorskip("dask.dataframe").from_pandas(FRAME, npartitions=2)
    with pytest.raises(DataError, match="not these rows"):
        Accelerated(StandardScaler(), device="cpu").fit(partitions)


class Faulty(TransformerMixin, BaseEstimator):
    """Fails, and not because of its rows."""

    def fit(self, X: Any, y: Any = None) -> Faulty:
        FITS.append(len(X))
        raise RuntimeError("a fault of mine")

    def transform(self, X: Any) -> Any:
        return X


FITS: list[int] = []


def test_a_fault_of_the_users_step_is_raised_as_it_is_and_once() -> None:
    FITS.clear()
    branches = make_column_transformer((Faulty(), ["a"]), (StandardScaler(), ["b"]))
    found = raised(lambda: Accelerated(branches, device="auto").fit(FRAME))
    assert (type(found), found.args, len(FITS)) == (RuntimeError, ("a fault of mine",), 1)
    with pytest.raises(BudgetExceeded), in_both_words(DataError("not these rows")):
        raise BudgetExceeded("too many bytes")


def test_batches_before_one_that_is_refused_are_kept() -> None:
    def step() -> Step:
        scaler = Program(StandardScaler(), step="scaler")
        return Step("scaler", scaler, "cpu", on_host=lambda reasons: step())

    one = step()
    one.learn("partial_fit", np.array([[1.0], [3.0]]), None)
    with pytest.raises(DataError, match="infinite"):
        one.learn("partial_fit", np.array([[np.inf]]), None)
    one.learn("partial_fit", np.array([[9.0], [11.0]]), None)
    assert one.worker.to_sklearn().mean_.tolist() == [6.0]
