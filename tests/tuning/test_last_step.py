"""What `last_step` finds, by scikit-learn's own `set_params`."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated
from pipeline.tuning.last_step import last_step


@pytest.mark.parametrize(
    ("estimator", "prefix"),
    [
        (Ridge(), ""),
        (make_pipeline(StandardScaler(), Ridge()), "ridge__"),
        (Pipeline([("a", make_pipeline(PCA(), Ridge()))]), "a__ridge__"),
        (Accelerated(Ridge()), "estimator__"),
        (Accelerated(make_pipeline(StandardScaler(), Ridge())), "estimator__ridge__"),
        (TransformedTargetRegressor(Ridge()), "regressor__"),
        (
            Accelerated(make_pipeline(PCA(), TransformedTargetRegressor(Ridge()))),
            "estimator__transformedtargetregressor__regressor__",
        ),
    ],
)
def test_the_prefix_leads_to_the_estimator(estimator: Any, prefix: str) -> None:
    assert last_step(estimator)[0] == prefix
    estimator.set_params(**{f"{prefix}alpha": 7.5})
    found = last_step(estimator)[1]
    assert isinstance(found, Ridge)
    assert found.alpha == 7.5


def test_a_pipeline_without_a_last_estimator_is_its_own() -> None:
    bare = make_pipeline(StandardScaler(), "passthrough")
    assert last_step(bare) == ("", bare)
    without = TransformedTargetRegressor()
    assert last_step(without) == ("", without)
