"""A script on a GPU: a ColumnTransformer of text and numbers stays on the device."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from pipeline import accel
from pipeline.accel.adopted import state_of
from pipeline.accel.engine import Engine
from pipeline.errors import Unsupported
from tests.contract.cases import EVERYWHERE, table, target, to_cudf

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture(autouse=True)
def installed(device: Any) -> Iterator[None]:
    accel.install(device="cuda", strict=True, min_size=0)
    yield
    accel.uninstall()


def program(model: Any) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(
        make_column_transformer((numbers, NUMBERS), (OneHotEncoder(), TEXTS)), model
    )


TABLE = pd.concat([table()] * 40, ignore_index=True)  # more than a copy of state
NUMBERS = [name for name in TABLE if pd.api.types.is_numeric_dtype(TABLE[name])][:2]
TEXTS = [name for name in TABLE if pd.api.types.is_string_dtype(TABLE[name])][:1]


@EVERYWHERE
@pytest.mark.parametrize("place", ["host", "device"])
def test_nothing_comes_to_the_host_between_reading_and_predictions(place: str) -> None:
    X = TABLE if place == "host" else to_cudf(TABLE)
    y = target(TABLE, 2)
    model = program(LogisticRegression())
    reference = clone(model)
    assert model.fit(X, y) is model
    found = model.predict(X)
    fit, predict = accel.calls()
    assert (fit.ran, predict.ran) == ("cuda", "cuda")
    assert max(fit.to_host_bytes, predict.to_host_bytes - found.nbytes) < len(TABLE)
    state: Any = state_of(model)
    assert not state.lifted
    accel.uninstall()
    np.testing.assert_array_equal(found, reference.fit(TABLE, y).predict(TABLE))
    assert model[-1].coef_.shape == reference[-1].coef_.shape


@pytest.fixture
def lifted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the models that are converted from now on."""
    models, plain = [], Engine.to_sklearn
    monkeypatch.setattr(Engine, "to_sklearn", lambda model: models.append(model) or plain(model))
    return models


X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "yes", "no").astype(object)


@EVERYWHERE
def test_a_model_is_converted_when_an_attribute_is_read_and_not_before(lifted: list[Any]) -> None:
    pipe = make_pipeline(StandardScaler(), RandomForestClassifier(3, max_depth=2, random_state=0))
    pipe.fit(X, Y).fit(X, Y)
    assert list(pipe.classes_) == ["no", "yes"]
    check_is_fitted(pipe)
    clone(pipe)
    repr(pipe)
    pipe.set_params(standardscaler__with_mean=True)
    accel.install(device="cuda", strict=True, min_size=0)
    get_scorer("roc_auc")(pipe, X, Y)
    assert lifted == []
    assert {site.ran for site in accel.calls()} == {"cuda"}
    assert len(pipe[-1].estimators_) == 3
    assert len(lifted) == 1
    pipe.predict(X)
    assert accel.calls()[-1].ran == "cuda"


@EVERYWHERE
def test_what_is_written_in_place_counts() -> None:
    forest = RandomForestRegressor(1, max_depth=3, random_state=0).fit(X, X[:, 0])
    tree = forest.estimators_[0].tree_
    tree.children_left[0] = tree.children_right[0] = -1
    assert np.std(forest.predict(X)) == 0
    model = LogisticRegression().fit(X, Y)
    model.classes_[0] = "never"
    assert set(model.predict(X)) == {"never", "yes"}
    words = [f"w{i} w{i + 1}" for i in range(1_500)]
    counts = CountVectorizer().fit(words)
    counts.vocabulary_["zz"] = counts.vocabulary_.pop("w5")
    assert counts.transform(["zz"]).nnz == 1


CLUSTERS = KMeans(2, random_state=0, n_init=1)
FITTED_ON_A_GPU: dict[str, Any] = {
    "clusters": CLUSTERS,
    "components": PCA(2),
    "kernels": SVC(),
    "neighbors": KNeighborsClassifier(),
    "a pipeline": make_pipeline(StandardScaler(), CLUSTERS),
    "pipelines": make_pipeline(StandardScaler(), make_pipeline(PCA(2), CLUSTERS)),
    "nothing last": Pipeline([("k", CLUSTERS), ("p", "passthrough")]),
    "a search": GridSearchCV(CLUSTERS, {"n_clusters": [2]}, cv=2),
    "a shared search": GridSearchCV(
        make_pipeline(StandardScaler(), CLUSTERS),
        {"kmeans__n_clusters": [2, 3]},
        cv=2,
        scoring="rand_score",
    ),
}
"""Models by what is special to them."""
ROWS = {"float64": X, "float32": X.astype("float32"), "sparse": csr_matrix(X)}


@EVERYWHERE
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", FITTED_ON_A_GPU)
def test_what_a_gpu_has_fitted_works_in_plain_scikit_learn(name: str, kind: str) -> None:
    if kind == "sparse" and name not in ("clusters", "a search"):
        pytest.skip("not centred, or on the host")
    rows = ROWS[kind]
    accel.install(device="cuda", min_size=0)
    model = clone(FITTED_ON_A_GPU[name]).fit(rows, Y)
    assert accel.calls()[-1].ran.startswith("cuda")
    accel.uninstall()
    loaded, wanted = pickle.loads(pickle.dumps(model)), clone(model).fit(rows, Y)
    if name == "nothing last":
        loaded, wanted = loaded["k"], wanted["k"]
    for method in ("predict", "transform"):
        if hasattr(wanted, method):
            found, same = (getattr(each, method)(rows) for each in (loaded, wanted))
            # On a GPU, PCA computes in float64.
            assert found.dtype == same.dtype or (name, kind) == ("components", "float32")
    found, same = (each.score(rows, Y) for each in (loaded, wanted))
    assert abs(found - same) < 0.05 * abs(same)


@EVERYWHERE
@pytest.mark.parametrize("kind", ["list", "pandas", "cudf", "numpy"])
def test_plain_scikit_learn_clusters_texts_as_a_gpu_has_fitted_it_to(kind: str) -> None:
    words = [f"w{i} w{i + 1} w{i % 7}" for i in range(60)]
    series = pd.Series(words, dtype="str")
    kinds = {"list": words, "pandas": series, "numpy": np.array(words, object)}
    texts = kinds[kind] if kind in kinds else to_cudf(series)
    accel.install(device="cuda", min_size=0)
    model = make_pipeline(TfidfVectorizer(), CLUSTERS).fit(texts)
    ran = accel.calls()[-1].ran
    accel.uninstall()
    assert ran == "cuda"
    assert model[-1].cluster_centers_.dtype == "float64"
    assert len(model.predict(words)) == len(words)


@EVERYWHERE
def test_arrays_are_as_wide_as_scikit_learn_has_them() -> None:
    da = pytest.importorskip("dask.array")
    narrow = pd.DataFrame(X.astype("float32")).add_prefix("x").assign(n=np.int16(3))
    for rows, plain, dtype in (
        (da.from_array(X, chunks=(30, 3)), X, "float64"),
        (narrow, narrow, "float32"),
        (narrow.assign(n=np.int64(3)), narrow.assign(n=np.int64(3)), "float64"),
    ):
        accel.install(device="cuda", min_size=0)
        model = clone(CLUSTERS).fit(rows)
        assert accel.calls()[-1].ran == "cuda"
        accel.uninstall()
        assert model.cluster_centers_.dtype == clone(model).fit(plain).cluster_centers_.dtype
        assert model.cluster_centers_.dtype == dtype
        assert len(model.predict(plain)) == len(X)


@EVERYWHERE
def test_to_read_an_attribute_calls_no_function_of_the_user() -> None:
    seen: list[int] = []

    def seeing(rows: Any) -> Any:
        seen.append(len(rows))
        return rows

    accel.install(device="cuda", min_size=0)
    model = make_pipeline(FunctionTransformer(seeing), clone(CLUSTERS)).fit(X)
    before = len(seen)
    assert model[-1].cluster_centers_.dtype == "float64"
    assert len(seen) == before


@EVERYWHERE
def test_searches_are_strict_too() -> None:
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    with pytest.raises(Unsupported):
        cross_val_score(pipe, X, Y, error_score="raise")
    accel.install(device="cuda", min_size=0)
    cross_val_score(pipe, X, Y)
    assert accel.calls()[-1].ran == "cuda, cpu"
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    GridSearchCV(pipe, {"logisticregression__C": [0.1, 1.0]}).fit(X, Y).predict(X)
    assert [site.ran for site in accel.calls()[-2:]] == ["cuda", "cuda"]


@EVERYWHERE
def test_what_a_gpu_cannot_run_is_an_error_if_strict_and_is_told_otherwise() -> None:
    with pytest.raises(Unsupported, match="decisiontreeclassifier: "):
        make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, Y)
    accel.install(device="cuda", min_size=0)
    make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, Y)
    (site,) = accel.calls()
    assert site.ran == "cuda, cpu"
    assert site.why.startswith("decisiontreeclassifier: ")
