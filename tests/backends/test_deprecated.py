"""A deprecated class of the user's warns where the user makes it, and not where we copy it."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import xgboost
from packaging.version import Version
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, explain, load, save
from pipeline.backends.xgboost.deprecated import heard
from pipeline.distributed import cluster

DEPRECATED = Version(xgboost.__version__) >= Version("3.4")
X = np.random.default_rng(0).normal(size=(80, 3))
y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def estimator():
    return make_pipeline(StandardScaler(), xgboost.XGBRFClassifier(n_estimators=3, max_depth=2))


def test_the_whole_life_of_a_model_repeats_no_warning(estimator, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Accelerated(estimator, device="cpu").fit(X, y)
        explain(estimator, device="cuda")
        model.certify(X)
        loaded = load(save(model, tmp_path / "a.model"), device="cpu")
        answers = [each.predict(X) for each in (model, loaded, pickle.loads(pickle.dumps(model)))]
    np.testing.assert_array_equal(answers[0], model.to_sklearn().predict(X))
    assert all((each == answers[0]).all() for each in answers)


@pytest.mark.slow
def test_a_cluster_repeats_no_warning(estimator) -> None:
    da = pytest.importorskip("dask.array")
    parts = da.from_array(X, chunks=(40, 3))
    with cluster.cluster("local", workers=2), warnings.catch_warnings():
        warnings.filterwarnings("error", category=FutureWarning)
        model = Accelerated(estimator, device="cpu").fit(parts, y)
    assert len(model.to_sklearn()[-1].get_booster().get_dump()) == 3
    assert (model.predict(X) == y).mean() > 0.9


def test_other_warnings_and_those_of_other_makers_are_heard() -> None:
    with heard(), pytest.warns(FutureWarning, match="something else"):
        warnings.warn("something else", FutureWarning, stacklevel=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xgboost.XGBRFRegressor()
    assert bool(caught) == DEPRECATED
