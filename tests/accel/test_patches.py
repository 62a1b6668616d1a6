"""What a script may rely on, held while its calls run through the engine."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.covariance import ShrunkCovariance
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelEncoder,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.utils._testing import MinimalTransformer
from sklearn.utils.validation import check_is_fitted

from pipeline import accel
from pipeline.accel import patches
from pipeline.accel.adopted import state_of
from pipeline.accel.engine import Engine
from pipeline.accel.gate import ENCODERS, MIN_SIZE, NUMERIC, obstacle
from pipeline.accel.sites import Site
from pipeline.cli.options import accel_options
from pipeline.errors import ConfigError, Refused
from pipeline.twins import TWINS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = (X[:, 0] + 0.1 * X[:, 1] > 0).astype(int)
DOCUMENTS = ("one cat", "one dog", "two cats", "two dogs")
T = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": RNG.choice(["x", "y", "z"], 400)})


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    accel.install(device="cpu", min_size=0)
    yield
    accel.uninstall()


@pytest.fixture
def verifying(installed: None) -> Iterator[None]:
    accel.install(device="cpu", min_size=0, verify=True)
    yield
    differ = {site.what: site.differs for site in accel.calls() if site.differs}
    assert differ == {}


def last() -> Site:
    return accel.calls()[-1]


def of_text_and_numbers() -> Pipeline:
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    return make_pipeline(columns, LogisticRegression())


def test_attributes_are_lifted_when_one_is_read() -> None:
    model = LogisticRegression()
    assert model.fit(X, Y) is model
    assert last().what == "LogisticRegression.fit"
    assert last().ran == "cpu"
    state: Any = state_of(model)
    model.predict(X)
    assert last().ran == "cpu"
    assert model.n_features_in_ == 5
    assert not state.lifted
    assert model.coef_.shape == (1, 5)
    assert state.lifted
    model.predict(X)
    assert last().ran == "cpu"


def test_python_code_that_reads_the_dict_lifts() -> None:
    models = [LogisticRegression().fit(X, Y) for _ in range(4)]
    assert "coef_" in vars(models[0])
    assert "coef_" in dir(models[1])
    assert "coef_" in {**vars(models[2])}
    check_is_fitted(models[3])


def test_the_steps_of_a_pipeline_are_fitted() -> None:
    scaler, last_step = StandardScaler(), LogisticRegression()
    pipe = make_pipeline(scaler, last_step).fit(X, Y)
    assert pipe[-1] is last_step
    np.testing.assert_allclose(scaler.mean_, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(pipe[:-1].transform(X), scaler.transform(X))
    assert pipe.n_features_in_ == 5
    assert list(pipe.classes_) == [0, 1]


@pytest.mark.usefixtures("verifying")
def test_a_column_transformer_of_text_and_numbers() -> None:
    pipe = of_text_and_numbers().fit(T, Y)
    assert last().ran == "cpu"
    pipe.predict_proba(T)
    assert last().ran == "cpu"
    assert [*pipe[:-1].get_feature_names_out()][:1] == ["standardscaler__a"]
    assert list(pipe.feature_names_in_) == ["a", "b", "c"]


def test_a_pickle_is_plain_scikit_learn() -> None:
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    code = (
        "import pickle, sys; m = pickle.load(sys.stdin.buffer); "
        "print(m[-1].coef_.shape, 'pipeline' in sys.modules, type(vars(m)))"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, input=pickle.dumps(pipe), capture_output=True, check=True)
    assert done.stdout == b"(1, 5) False <class 'dict'>\n"
    for other in (pickle.loads(pickle.dumps(pipe)), copy.copy(pipe), copy.deepcopy(pipe)):
        np.testing.assert_array_equal(other.predict(X), pipe.predict(X))


def test_a_clone_is_unfitted_and_plain() -> None:
    fitted = LogisticRegression(C=2).fit(X, Y)
    other = clone(fitted)
    assert other.C == 2
    assert not hasattr(other, "coef_")
    assert type(vars(other)) is dict


def test_changed_parameters_count() -> None:
    model = KNeighborsClassifier().fit(X, Y)
    assert not (model.predict(X) == Y).all()
    model.set_params(n_neighbors=1)
    assert (model.predict(X) == Y).all()
    assert last().why == "changed since it was fitted"


def test_written_attributes_count() -> None:
    model = Ridge().fit(X, Y)
    model.coef_ = model.coef_ * 2
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    model = Ridge().fit(X, Y)
    model.coef_[0] = 9
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    model = Ridge().fit(X, Y)
    model.coef_ *= 2
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    pipe = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    pipe[-1].intercept_ = 100.0
    assert pipe.predict(X).mean() > 90


def test_written_attributes_of_a_branch_count() -> None:
    pipe = of_text_and_numbers().fit(T, Y)
    before = pipe.predict_proba(T)
    pipe[0].named_transformers_["standardscaler"].mean_ += 10
    assert np.abs(pipe.predict_proba(T) - before).max() > 0.1


def test_a_large_array_is_read_only() -> None:
    many = RNG.normal(size=(40_000, 5))
    model = KNeighborsClassifier().fit(many, many[:, 0] > 0)
    with pytest.raises(ValueError, match="read-only"):
        model._fit_X[0] = 9
    many[0] = 1  # the user's own stays as it was
    words = np.ones((40, 20_000))
    counted = MultinomialNB().fit(words, np.arange(40) % 10).partial_fit(words, np.arange(40) % 10)
    assert counted.class_count_.sum() == 80
    accel.uninstall()
    model._fit_X[0] = 9


def test_the_fit_of_a_step_leaves_the_other_steps_fitted() -> None:
    pipe = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    pipe[-1].fit(2 * X, Y)
    assert pipe[0].mean_.shape == (5,)
    np.testing.assert_allclose(pipe.predict(X), pipe[-1].predict(pipe[0].transform(X)))


def test_a_fit_replaces_the_attributes_of_plain_scikit_learn() -> None:
    accel.uninstall()
    model = Ridge().fit(X, Y)
    accel.install(device="cpu", min_size=0)
    model.fit(X, 2 * Y)
    assert last().ran == "cpu"
    np.testing.assert_allclose(model.coef_, Ridge().fit(X, 2 * Y).coef_)


def test_an_object_can_be_fitted_again() -> None:
    model = Ridge().fit(X, Y)
    assert model.coef_.shape == (5,)
    model.fit(X[:, :2], Y)
    assert model.coef_.shape == (2,)
    model.fit(X, Y).predict(X)
    assert model.coef_.shape == (5,)
    pipe = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    pipe[-1].fit(X, Y)
    np.testing.assert_allclose(pipe.predict(X), pipe[-1].predict(pipe[0].transform(X)))


def test_a_fit_that_fails_leaves_the_one_before() -> None:
    model = Ridge().fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((4, 5), np.nan), Y[:4])
    assert model.coef_.shape == (5,)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)


def test_attributes_of_the_user_stay() -> None:
    model = Ridge()
    model.note = model._note = model.note_ = 1
    model.fit(X, Y).fit(X, Y)
    assert model.coef_.shape == (5,)
    assert (model.note, model._note, model.note_) == (1, 1, 1)


def test_warm_start_partial_fit_and_generators_are_plain_scikit_learn() -> None:
    forest = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, Y)
    forest.set_params(n_estimators=9).fit(X, Y)
    assert len(forest.estimators_) == 9
    model = SGDClassifier(random_state=0).fit(X, Y)
    model.partial_fit(X, Y)
    assert model.t_ > 400
    generator = np.random.RandomState(0)
    RandomForestClassifier(3, random_state=generator).fit(X, Y)
    ours = generator.rand()
    accel.uninstall()
    generator = np.random.RandomState(0)
    RandomForestClassifier(3, random_state=generator).fit(X, Y)
    assert generator.rand() == ours


@pytest.mark.usefixtures("verifying")
def test_weights_by_name_by_step_and_by_position() -> None:
    weights = RNG.uniform(size=400)
    model = LogisticRegression().fit(X, Y, sample_weight=weights)
    assert last().ran == "cpu"
    model.fit(X, Y, weights)
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    pipe.fit(X, Y, logisticregression__sample_weight=weights)
    assert last().ran == "cpu"


@pytest.mark.usefixtures("verifying")
def test_frames_that_are_asked_for() -> None:
    numbers = T[["a", "b"]]
    scaler = StandardScaler().set_output(transform="pandas")
    assert type(scaler.fit_transform(numbers)) is pd.DataFrame
    assert list(scaler.transform(numbers).columns) == ["a", "b"]
    with sklearn.config_context(transform_output="pandas"):
        assert type(StandardScaler().fit_transform(numbers)) is pd.DataFrame
    scaler = StandardScaler().fit(numbers)
    assert type(scaler.set_output(transform="pandas").transform(numbers)) is pd.DataFrame


def test_a_subclass_of_the_user_runs_plain() -> None:
    class Mine(LogisticRegression):
        def fit(self, X: Any, y: Any) -> Mine:
            super().fit(X, y)
            self.seen_ = 1
            return self

    assert Mine().fit(X, Y).seen_ == 1
    assert accel.calls() == []


def test_a_pipeline_with_a_step_of_the_user_runs_plain() -> None:
    class Add(BaseEstimator):
        def fit(self, X: Any, y: Any = None) -> Add:
            self.n_ = getattr(self, "n_", 0) + 1
            return self

        def transform(self, X: Any) -> Any:
            return X + 1

    add = Add()
    make_pipeline(add, StandardScaler(), Ridge()).fit(X, Y)
    assert add.n_ == 1
    assert last().ran == "plain"
    assert "add is of another package, or of your own" in last().why


def replaced() -> StandardScaler:
    scaler: Any = StandardScaler()
    scaler.transform = lambda X: X * 0
    return scaler


@pytest.mark.parametrize(
    ("estimator", "table", "why"),
    [
        (make_pipeline(StandardScaler(), Ridge(), memory="."), X, "memory keeps fitted steps"),
        (StandardScaler(copy=False), X, "copy=False may change the table"),
        (SelectFromModel(Ridge(), prefit=True), X, "prefit=True"),
        (FunctionTransformer(), pl.DataFrame({"a": [1.0]}), "a function of yours"),
        (StandardScaler(), [[1.0], [2.0]], "X is a list"),
        (
            make_pipeline(MinimalTransformer(), Ridge()),
            X,
            "minimaltransformer is of another",
        ),
        (replaced(), X, "StandardScaler has a transform of your own"),
        (KMeans(random_state=np.random.RandomState(0)), X, "random_state is a generator"),
        (make_pipeline(FrozenEstimator(StandardScaler())), X, "is fitted already"),
    ],
)
def test_what_scikit_learn_itself_has_to_run(estimator: Any, table: Any, why: str) -> None:
    assert why in obstacle(estimator, table)


def test_classes_of_a_nullable_type_are_those_of_scikit_learn() -> None:
    y = pd.Series(Y[0] == Y).astype("boolean")
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert pipe.classes_.dtype == pipe.predict(X).dtype == np.float64
    assert accel.calls()[0].why.endswith("its classes are floats, because y is of type boolean")
    make_pipeline(StandardScaler(), Ridge()).fit(X, y.astype("Int64"))
    assert last().ran == "cpu"


def test_a_meta_estimator_of_the_user_has_its_fits_accelerated() -> None:
    class Meta(BaseEstimator):
        def fit(self, X: Any, y: Any) -> Meta:
            self.model_ = LogisticRegression().fit(X, y)
            return self

    Meta().fit(X, Y).model_.predict(X)
    assert [site.ran for site in accel.calls()] == ["cpu", "cpu"]


@pytest.mark.usefixtures("verifying")
def test_a_search_shares_rows_and_stays_a_search() -> None:
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1, 10]}).fit(X, Y)
    assert last().why == "its fits share rows"
    assert [*search.best_params_] == ["logisticregression__C"]
    assert "param_logisticregression__C" in search.cv_results_
    assert type(search.best_estimator_) is Pipeline
    search.predict(X)
    assert (last().what, last().ran) == ("Pipeline.predict", "cpu")
    assert pickle.loads(pickle.dumps(search)).score(X, Y) == search.score(X, Y)
    names = {"logisticregression__C": [0.1, 1]}
    RandomizedSearchCV(pipe, names, n_iter=2, random_state=0, n_jobs=2, scoring="roc_auc").fit(X, Y)
    assert last().why == "its fits share rows"
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}).fit(X, Y)
    assert last().ran == "cpu"
    kernels = [{"kernel": ["linear"], "C": [1]}, {"kernel": ["rbf"], "gamma": [0.1]}]
    assert GridSearchCV(SVC(), kernels).fit(X, Y).cv_results_["param_gamma"].mask.sum() == 1
    assert last().ran == "cpu"


@pytest.mark.usefixtures("verifying")
def test_the_words_of_a_union_in_a_grid_are_fitted() -> None:
    union = FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())])
    grid = {"featureunion__b": ["passthrough"]}
    best = GridSearchCV(make_pipeline(union, LogisticRegression()), grid).fit(X, Y).best_estimator_
    assert (last().ran, last().differs) == ("cpu", "")
    assert type(best[0].transformer_list[1][1]) is FunctionTransformer
    assert best[0].transform(X).shape == (len(X), 2 * X.shape[1])


@pytest.mark.usefixtures("verifying")
def test_cross_validation_shares_rows() -> None:
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    ours = cross_val_score(pipe, X, Y)
    assert last().what == "cross_validate"
    assert last().why == "its fits share rows"
    accel.uninstall()
    np.testing.assert_allclose(ours, cross_val_score(pipe, X, Y))


def test_threads_of_scikit_learn_are_not_outermost() -> None:
    with joblib.parallel_backend("threading"):
        forest = RandomForestClassifier(4, n_jobs=2, warm_start=True, random_state=0)
        forest.fit(X, Y)
        VotingClassifier([("a", LogisticRegression()), ("b", forest)], n_jobs=2).fit(X, Y)
    assert len(accel.calls()) == 2


def test_errors_are_those_of_scikit_learn() -> None:
    with pytest.raises(ValueError, match="requires y"):
        LogisticRegression().fit(X, None)
    with pytest.raises(AttributeError, match="'LogisticRegression' object has no attribute 'co'"):
        _ = LogisticRegression().co
    with pytest.raises(AttributeError, match="This 'Pipeline' has no attribute 'predict'"):
        _ = make_pipeline(StandardScaler()).predict
    with pytest.raises(NotFittedError):
        LogisticRegression().predict(X)
    with pytest.raises(ValueError, match="X has 2 features") as caught:
        LogisticRegression().fit(X, Y).predict(X[:, :2])
    assert caught.value.__context__ is None
    assert not isinstance(caught.value, Refused)


def test_a_failure_of_the_engine_is_told_and_scikit_learn_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*args: Any, **params: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("pipeline.accel.engine.Engine.fit", fail)
    before = np.random.get_state()[1]
    with pytest.warns(RuntimeWarning, match=r"Ridge.fit: the engine failed: ZeroDivisionError: oh"):
        model = Ridge().fit(X, Y)
    assert model.coef_.shape == (5,)
    assert last().ran == "plain"
    np.testing.assert_array_equal(before, np.random.get_state()[1])
    accel.install(device="cpu", min_size=0, strict=True)
    with pytest.raises(ZeroDivisionError):
        Ridge().fit(X, Y)


def test_a_failing_search_or_cross_validation_is_told_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*args: Any) -> None:
        np.random.random()
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("pipeline.accel.searches.shared", fail)
    pipe, before = make_pipeline(StandardScaler(), Ridge()), np.random.get_state()[2]
    with pytest.warns(RuntimeWarning, match="cross_validate: the engine failed: ZeroDivision"):
        assert cross_val_score(pipe, X, Y).shape == (5,)
    with pytest.warns(RuntimeWarning, match=r"GridSearchCV.fit: the engine failed: ZeroDivision"):
        GridSearchCV(pipe, {"ridge__alpha": [1.0]}).fit(X, Y)
    assert np.random.get_state()[2] == before


def test_a_cross_validation_that_fails_in_scikit_learn_runs_once() -> None:
    calls = []

    def score(*given: Any) -> float:
        calls.append(given)
        raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError):
        cross_val_score(
            make_pipeline(StandardScaler(), Ridge()), X, Y, scoring=score, error_score="raise"
        )
    assert len(calls) == 1


def test_strict_refuses_what_the_engine_does_not_support() -> None:
    accel.install(device="cpu", min_size=0, strict=True)
    with pytest.raises(ConfigError, match="SGDClassifier: warm_start=True"):
        SGDClassifier(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but Ridge is expecting 5"):
        Ridge().fit(X, Y).predict(X[:, :2])
    assert last().why == "scikit-learn raises ValueError"


def test_warnings_are_given_out_once() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        LogisticRegression(max_iter=1).fit(X, Y)
    assert [each.category for each in said] == [ConvergenceWarning]


def test_a_filter_of_warnings_by_module_holds() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", module="sklearn")
        LogisticRegression(max_iter=1).fit(X, Y)
    assert said == []


def test_a_lift_that_fails_can_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Ridge().fit(X, Y)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.accel.engine.Engine.to_sklearn", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            _ = model.coef_
    assert model.coef_.shape == (5,)


def test_threads_read_what_one_of_them_lifts(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, arrived = Engine.to_sklearn, Barrier(2)

    def slow(model: Engine) -> Any:
        time.sleep(0.05)
        return plain(model)

    def read(model: Ridge) -> Any:
        arrived.wait()
        return model.coef_

    monkeypatch.setattr(Engine, "to_sklearn", slow)
    models = [Ridge().fit(X, Y)] * 2
    with ThreadPoolExecutor(2) as pool:
        assert [each.shape for each in pool.map(read, models)] == [(5,), (5,)]


def test_attributes_can_be_deleted_before_they_are_read() -> None:
    model = Ridge().fit(X, Y)
    del model.coef_
    assert not hasattr(model, "coef_")
    model.fit(X, Y)
    assert vars(model).pop("coef_").shape == (5,)


def test_a_mixin_of_the_user_is_reached() -> None:
    class Delegates:
        def __getattr__(self, name: str) -> str:
            return name

        def __dir__(self) -> list[str]:
            return ["anything"]

    class Mine(BaseEstimator, Delegates):
        pass

    assert Mine().anything == "anything"
    assert dir(Mine()) == ["anything"]


def test_a_fitted_object_goes_when_it_is_deleted() -> None:
    pipe = of_text_and_numbers().fit(T, Y)
    pipe.predict(T)
    assert pipe[-1].coef_.shape == (1, 5)
    gone = weakref.ref(pipe), weakref.ref(state_of(pipe).model)
    gc.collect()
    gc.disable()
    try:
        del pipe
        assert [each() for each in gone] == [None, None]
    finally:
        gc.enable()


@pytest.mark.usefixtures("verifying")
def test_other_estimators_and_private_attributes() -> None:
    assert KNeighborsClassifier().fit(X, Y)._fit_X.shape == X.shape
    assert PCA(2).fit(X)._n_features_out == 2
    assert type(ShrunkCovariance().fit(X).score(X)) is np.float64
    union = make_union(PCA(2), StandardScaler()).fit(X)
    assert type(union) is FeatureUnion
    assert union.transform(X).shape == (400, 7)
    assert KMeans(2, random_state=0).fit_predict(X).shape == (400,)
    texts = ["a cat", "a dog", "the dog"]
    assert TfidfVectorizer().fit_transform(texts).shape == (3, 3)
    assert list(LabelEncoder().fit_transform(["b", "a"])) == [1, 0]


@pytest.mark.usefixtures("verifying")
def test_words_for_transformers_and_fitted_objects_as_parameters() -> None:
    union = FeatureUnion([("as_it_is", "passthrough"), ("no", "drop"), ("s", StandardScaler())])
    assert union.fit(X).n_features_in_ == 5
    assert type(union.transformer_list[0][1]) is FunctionTransformer
    assert union.transform(X).shape == (400, 10)
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    leaves = FunctionTransformer(lambda X, model: model.apply(X), kw_args={"model": forest})
    pipe = make_pipeline(leaves, OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    pipe.fit(X, Y).predict(X)


@pytest.mark.usefixtures("verifying")
def test_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=5).fit(X, Y)
    assert last().ran == "cpu"
    assert model.feature_importances_.shape == (5,)
    assert model.get_booster().num_boosted_rounds() == 5
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_another_install_keeps_what_is_fitted() -> None:
    model = Ridge().fit(X, Y)
    accel.install(device="cpu", min_size=0, verify=True)
    assert accel.calls() == []
    model.predict(X)
    assert last().ran == "cpu"


def test_what_can_be_read_once_is_read_by_scikit_learn() -> None:
    texts = TfidfVectorizer().fit_transform(text for text in ("a cat", "the dog"))
    assert texts.shape == (2, 3)
    assert last().why == "TfidfVectorizer: X can be read only once"
    pipe = make_pipeline(StandardScaler(), Ridge())
    GridSearchCV(pipe, {"ridge__alpha": [1.0]}, cv=KFold(2).split(X)).fit(X, Y)
    assert last().why == "GridSearchCV: cv can be read only once"


def test_a_tuple_of_documents_is_cross_validated() -> None:
    pipe = make_pipeline(TfidfVectorizer(), LogisticRegression())
    assert cross_val_score(pipe, DOCUMENTS, [0, 1, 0, 1], cv=2).shape == (2,)


def test_unions_are_fitted_as_by_scikit_learn() -> None:
    union = FeatureUnion((("a", PCA(1)), ("b", StandardScaler()))).fit(X)
    assert type(union.transformer_list) is list
    assert len(union.get_feature_names_out()) == 6
    union = FeatureUnion([("a", "passthrough"), ("b", "passthrough")]).fit(T[["a"]])
    assert list(union.get_feature_names_out()) == ["a__a", "b__a"]


def test_what_is_not_available_is_not_in_dir() -> None:
    assert "set_output" not in dir(LabelEncoder())


def test_warnings_of_the_engine_alone_are_not_given() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ridge().fit(T[["a"]].set_index(np.arange(400) + 5), pd.Series(Y))
    assert last().ran == "cpu"


def test_several_threads_verify() -> None:
    accel.install(device="cpu", min_size=0, verify=True)
    streams = sys.stdout, sys.stderr, warnings.filters[:]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda C: LogisticRegression(C=C).fit(X, Y), range(1, 9)))
    assert streams == (sys.stdout, sys.stderr, warnings.filters)
    assert {site.differs for site in accel.calls()} == {""}


def test_small_tables_stay_with_scikit_learn() -> None:
    accel.install(device="cpu")
    make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y).predict(X)
    assert [site.ran for site in accel.calls()] == ["plain", "plain"]
    assert [site.n for site in accel.calls()] == [1, 1]


def test_all_is_as_it_was_after_uninstall() -> None:
    model = Ridge().fit(X, Y)
    accel.uninstall()
    assert model.coef_.shape == (5,)
    assert type(vars(model)) is dict
    assert "__getattr__" not in vars(BaseEstimator)
    assert "__init_subclass__" not in vars(BaseEstimator)
    assert not hasattr(LogisticRegression.fit, "plain")
    assert not hasattr(sklearn.model_selection.cross_validate, "plain")
    assert patches._patched == set()


def test_the_gate_knows_the_twins() -> None:
    assert {cls.__name__ for cls in TWINS} == ENCODERS | NUMERIC


def test_the_command_has_the_default_of_the_function() -> None:
    options = {each.name: each for each in accel_options(lambda: None).__click_params__}
    assert options["min_size"].default == MIN_SIZE
