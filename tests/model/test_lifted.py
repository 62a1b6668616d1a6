"""A fitted model answers as the fitted estimator does."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor, _column_transformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated
from tests.names import one_in
from tests.programs import MODELS, NUMBERS, TABLE, WORDS, on_cpu, program

X = TABLE[["n2"]].assign(
    n1=TABLE["n1"].fillna(0.0), n3=np.random.default_rng(0).normal(size=len(TABLE))
)
BOOSTED = XGBClassifier(n_estimators=9, max_depth=2, n_jobs=1)

ALONE: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "k-means": KMeans(3, n_init=1, random_state=0),
    "PCA": PCA(2),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(5, random_state=0, oob_score=True, max_samples=0.3),
    "boosting": BOOSTED,
    "linear boosting": XGBRegressor(n_estimators=5, booster="gblinear", n_jobs=1),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "scaler": StandardScaler(),
    "target encoder": TargetEncoder(random_state=0),
    "columns": make_column_transformer((StandardScaler(), ["n1"]), remainder="passthrough"),
    "pipeline": make_pipeline(StandardScaler(), PCA(2), LogisticRegression()),
}
NOT_ALIKE = {"refit_time_", "cv_results_", "probA_", "probB_", *Accelerated(None).get_params(False)}
"""Times, what scikit-learn warns of, and what a model has itself."""


def public(estimator: Any) -> dict[str, Any]:
    """Return what an estimator has that is no method."""
    names = [name for name in dir(estimator) if not name.startswith("_")]
    found = {n: getattr(estimator, n) for n in {*names} - NOT_ALIKE if hasattr(estimator, n)}
    return {name: value for name, value in found.items() if not callable(value)}


def assert_alike(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, BaseEstimator):
        assert type(ours) is type(theirs)
    elif isinstance(theirs, dict):
        assert_alike([*ours.items()], [*theirs.items()])
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_alike(one, other)
    elif isinstance(theirs, np.ndarray) and theirs.dtype.kind in "iufb":
        assert ours.dtype.kind == theirs.dtype.kind
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, nan_ok=True)
    elif isinstance(theirs, str | int | np.ndarray | None):
        np.testing.assert_equal(ours, theirs)
    else:
        assert type(ours) is type(theirs)


@pytest.mark.filterwarnings("ignore:.*`booster=gblinear` is deprecated")
@pytest.mark.parametrize("name", ALONE)
def test_it_has_all_that_the_fitted_estimator_has(name: str) -> None:
    estimator = ALONE[name]
    model, plain = on_cpu(estimator).fit(X, NUMBERS), clone(estimator).fit(X, NUMBERS)
    theirs = public(plain)
    assert len(theirs) > 2
    assert set(theirs) <= set(dir(model))
    for attribute, value in theirs.items():
        assert_alike(getattr(model, attribute), value)


METHODS_OF_THEIRS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "leaves": (ALONE["forest"], lambda m: m.apply(X)),
    "paths": (ALONE["tree"], lambda m: m.decision_path(X).toarray()),
    "trees": (ALONE["forest"], lambda m: [tree.get_n_leaves() for tree in m]),
    "one tree": (ALONE["forest"], lambda m: m[2].predict(X.to_numpy())),
    "booster": (BOOSTED, lambda m: m.get_booster().get_dump()),
}


@pytest.mark.parametrize("name", METHODS_OF_THEIRS)
def test_it_has_the_methods_of_the_fitted_estimator(name: str) -> None:
    estimator, ask = METHODS_OF_THEIRS[name]
    ours, theirs = on_cpu(estimator).fit(X, NUMBERS), clone(estimator).fit(X, NUMBERS)
    assert_alike(ask(ours), ask(theirs))


def piped() -> Any:
    return make_pipeline(StandardScaler(), PCA(2), LogisticRegression())


def test_steps_are_those_of_the_fitted_pipeline() -> None:
    model, plain = on_cpu(piped()).fit(X, WORDS), piped().fit(X, WORDS)
    assert len(model) == len(plain) == 3
    assert [*model.named_steps] == [name for name, _ in model.steps] == [*plain.named_steps]
    assert [type(step) for step in model] == [type(step) for step in plain]
    np.testing.assert_allclose(model[:-1].transform(X), plain[:-1].transform(X))
    np.testing.assert_allclose(model[-1].coef_, plain[-1].coef_)
    np.testing.assert_allclose(model["pca"].components_, plain["pca"].components_)
    np.testing.assert_allclose(model.named_steps["standardscaler"].mean_, plain[0].mean_)
    for wrong, error in ((7, IndexError), ("nobody", KeyError)):
        for each in (model, plain):
            with pytest.raises(error):
                each[wrong]


@pytest.mark.parametrize("name", ["coef_", "named_steps", "C", "nonsense", "best_iteration"])
def test_before_fit_there_is_nothing_of_it(name: str) -> None:
    model = on_cpu(piped())
    assert not hasattr(model, name)
    assert name not in dir(model)
    with pytest.raises(AttributeError, match=rf"no attribute '{name}' before `fit`"):
        getattr(model, name)
    with pytest.raises(NotFittedError):
        model[-1]
    assert model  # noqa: B015 - not fitted, and no container that is empty


def test_what_the_fitted_estimator_has_not_is_said_in_its_words() -> None:
    model = on_cpu(piped()).fit(X, WORDS)
    for name in ("coef_", "nonsense"):
        with pytest.raises(AttributeError) as theirs:
            getattr(piped().fit(X, WORDS), name)
        with pytest.raises(AttributeError) as ours:
            getattr(model, name)
        assert str(ours.value).startswith(str(theirs.value))
    assert "model[-1].coef_" in str(pytest.raises(AttributeError, getattr, model, "coef_").value)
    boosted, theirs_boosted = on_cpu(BOOSTED).fit(X, NUMBERS), clone(BOOSTED).fit(X, NUMBERS)
    for name in ("coef_", "best_iteration"):
        error = pytest.raises(AttributeError, getattr, theirs_boosted, name).value
        with pytest.raises(AttributeError, match=str(error)):
            getattr(boosted, name)
    with pytest.raises(TypeError, match="object of type 'Ridge' has no len"):
        len(on_cpu(Ridge()).fit(X, NUMBERS))
    with pytest.raises(TypeError, match="'Ridge' object is not subscriptable"):
        on_cpu(Ridge()).fit(X, NUMBERS)[0]
    linear = on_cpu(LinearSVC()).fit(X, NUMBERS)
    assert not hasattr(linear, "predict_proba")
    assert not hasattr(on_cpu(SVC()).fit(X, NUMBERS), "coef_")  # not a linear kernel


def test_copies_pickles_and_clones() -> None:
    model = on_cpu(piped()).fit(X, WORDS)
    expected = model[-1].coef_
    for again in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert "_lifted" not in vars(again)
        np.testing.assert_array_equal(again[-1].coef_, expected)
    assert not hasattr(clone(model), "named_steps")
    for empty in (copy.copy(on_cpu()), pickle.loads(pickle.dumps(on_cpu()))):
        assert not hasattr(empty, "steps")


Y = X["n1"] * 2 + X["n3"] + NUMBERS
SCALED = make_pipeline(StandardScaler(), Ridge())
ROOT = {"func": np.cbrt, "inverse_func": lambda y: y**3}
Wrap = Callable[[Any], Any]

AROUND: dict[str, tuple[Callable[[Wrap], Any], Any, str]] = {
    "RFE": (lambda of: RFE(of(Ridge()), n_features_to_select=1), Y, "ranking_"),
    "select": (lambda of: SelectFromModel(of(ElasticNet(0.1))), Y, "get_support"),
    "select fitted": (
        lambda of: SelectFromModel(of(Ridge()).fit(X, Y), prefit=True), Y, "get_support"
    ),
    "calibrated": (lambda of: CalibratedClassifierCV(of(piped()), cv=2), WORDS, "predict_proba"),
    "tuned": (
        lambda of: TunedThresholdClassifierCV(of(piped()), cv=2), NUMBERS, "best_threshold_"
    ),
    "target": (lambda of: TransformedTargetRegressor(of(SCALED), **ROOT), Y, "predict"),
    "last": (lambda of: make_pipeline(StandardScaler(), of(Ridge())), Y, "predict"),
}  # fmt: skip


def plainly(estimator: Any) -> Any:
    return clone(estimator)


@pytest.mark.quick(17)
@pytest.mark.filterwarnings("ignore:X (has|does not have) (valid )?feature names")
@pytest.mark.parametrize("name", AROUND)
def test_around_it_as_around_a_plain_estimator(name: str) -> None:
    wrap, y, asked = AROUND[name]

    def answer(of: Wrap) -> Any:
        found = getattr(wrap(of).fit(X, y), asked)
        takes = asked.startswith("predict")
        return (found(X) if takes else found()) if callable(found) else found

    assert_alike(answer(on_cpu), answer(plainly))


FOREIGN = """
import sys
from pathlib import Path

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"cudf", "cuml", "cupy", "cupyx", "rmm", "pipeline", "tests"}:
            raise ModuleNotFoundError(f"blocked: {name}")

sys.meta_path.insert(0, Blocked())
import pickle
import numpy as np
import pandas as pd

folder = Path(sys.argv[1])
X = pd.read_parquet(folder / "X.parquet")
if (folder / "model.pickle").is_file():
    model = pickle.loads((folder / "model.pickle").read_bytes())
else:
    import skops.io
    strangers = skops.io.get_untrusted_types(file=folder / "model.skops")
    model = skops.io.load(folder / "model.skops", trusted=strangers)
np.save(folder / "answers.npy", model.predict_proba(X))
"""


def pickled(model: object, folder: Path) -> None:
    (folder / "model.pickle").write_bytes(pickle.dumps(model))


def dumped(model: object, folder: Path) -> None:
    skops.io.dump(model, folder / "model.skops")


def elsewhere(folder: Path) -> subprocess.CompletedProcess[str]:
    """Load and ask the model in a fresh interpreter that has neither us nor RAPIDS."""
    run = [sys.executable, "-I", "-c", FOREIGN, str(folder)]
    return subprocess.run(run, capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("write", [pickled, dumped], ids=lambda write: write.__name__)
@pytest.mark.parametrize("name", one_in(3, MODELS))
def test_it_predicts_where_neither_we_nor_a_gpu_are(
    name: str, write: object, tmp_path: Path
) -> None:
    model = on_cpu(program(MODELS[name])).fit(TABLE, NUMBERS)
    lifted = model.certify(TABLE).require() and model.to_sklearn()
    write(lifted, tmp_path)
    TABLE.to_parquet(tmp_path / "X.parquet")
    done = elsewhere(tmp_path)
    assert done.returncode == 0, done.stderr
    answers = np.load(tmp_path / "answers.npy")
    np.testing.assert_array_equal(answers, lifted.predict_proba(TABLE))
    np.testing.assert_allclose(answers, model.predict_proba(TABLE), rtol=1e-4, atol=1e-5)


def test_no_process_is_started_for_what_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = make_column_transformer((StandardScaler(), ["n2"]), (PCA(1), ["n1", "n3"]), n_jobs=2)
    model, asked = on_cpu(columns).fit(X), []
    one = _column_transformer.Parallel(n_jobs=1)
    monkeypatch.setattr(_column_transformer, "Parallel", lambda n_jobs: asked.append(n_jobs) or one)
    assert model.to_sklearn().n_jobs == 2
    assert asked == [1]
