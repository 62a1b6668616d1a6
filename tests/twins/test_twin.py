from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.feature_selection import GenericUnivariateSelect, chi2
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline import Accelerated
from pipeline.compile.program import Program
from pipeline.errors import Unsupported
from pipeline.twins import TWINS
from pipeline.twins.twin import Twin
from tests.names import plain
from tests.twins.parity import dense

HONOURED = "use "
REFUSED: list[tuple[Any, str, str]] = [
    *((SimpleImputer(missing_values=m), "missing_values", HONOURED) for m in (-1, 0, "")),
    (SimpleImputer(strategy=np.max), "strategy", HONOURED),
    (FunctionTransformer(feature_names_out=len), "feature_names_out", HONOURED),
    (QuantileTransformer(ignore_implicit_zeros=True), "ignore_implicit_zeros", HONOURED),
    (PowerTransformer("box-cox"), "method", HONOURED),
    (OneHotEncoder(drop=["a"]), "drop", HONOURED),
    (TargetEncoder(categories=[["a"]]), "categories", HONOURED),
    (TargetEncoder(target_type="multiclass"), "target_type", HONOURED),
    *((TargetEncoder(cv=cv), "cv", HONOURED) for cv in (ShuffleSplit(), GroupKFold(), [])),
]


@pytest.mark.parametrize(("estimator", "parameter", "instead"), REFUSED, ids=plain)
def test_what_is_not_honoured_is_refused(estimator: Any, parameter: str, instead: str) -> None:
    with pytest.raises(Unsupported) as caught:
        Program(estimator, step="here").fit(np.zeros((4, 1)), np.array([0, 1, 0, 1]))
    (reason,) = caught.value.reasons
    assert reason.step == "here"
    assert reason.parameter == parameter
    if instead == HONOURED:
        assert reason.why.startswith(f"{parameter}=")
        assert reason.why.endswith("is not supported yet")
        assert reason.instead.startswith("use ")
        assert reason.instead.endswith("or run the step in scikit-learn")
    assert instead in reason.instead


_rng = np.random.default_rng(0)
X = pd.DataFrame({"a": list("xyz") * 20, "b": _rng.integers(1, 9, 60), "c": _rng.random(60) + 1})
Y = np.arange(60) % 4 % 3 % 2
HALVES = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
OWN: list[Any] = [
    make_column_transformer((OneHotEncoder(drop=["y", 3]), ["a", "b"])),
    make_column_transformer((OneHotEncoder(categories=[["x", "y", "z", None]]), ["a"])),
    make_column_transformer((TargetEncoder(categories=[["x", "y"]], cv=KFold(2)), ["a"])),
    make_column_transformer((TargetEncoder(cv=HALVES), ["a", "b"])),
    make_column_transformer((MissingIndicator(features="all"), ["a", "c"])),
    make_pipeline(PowerTransformer("box-cox"), Binarizer()),
    make_pipeline(GenericUnivariateSelect(chi2, mode="k_best", param=1), StandardScaler()),
]


@pytest.mark.parametrize("estimator", OWN, ids=plain)
def test_rare_cases_are_run_by_sklearns_own_step(estimator: Any) -> None:
    table = X if isinstance(estimator, ColumnTransformer) else X[["b", "c"]]
    expected, model = clone(estimator), Accelerated(estimator, device="cpu")
    for made, wanted in (
        (model.fit_transform(table, Y), expected.fit_transform(table, Y)),
        (model.transform(table[::-1]), expected.transform(table[::-1])),
    ):
        assert issparse(made) is issparse(wanted)
        np.testing.assert_allclose(dense(made), dense(wanted), rtol=1e-9)
    assert repr(model.to_sklearn()) == repr(expected)


@pytest.mark.parametrize("original", TWINS, ids=lambda original: original.__name__)
def test_every_parameter_is_honoured_or_refused(original: type) -> None:
    """A value no twin knows is let through only where every value is honoured."""
    twin = TWINS[original]
    for parameter in original().get_params():
        estimator = original().set_params(**{parameter: object()})
        reasons = twin.unsupported_reasons(estimator, "step")
        honours_all = twin.supported_params.get(parameter) == ()
        assert [reason.parameter for reason in reasons] == ([] if honours_all else [parameter])


@pytest.mark.parametrize("twin", TWINS.values(), ids=lambda twin: twin.__name__)
def test_twins_that_hand_columns_on_say_so(twin: type[Twin[Any]]) -> None:
    own = twin.keeps_columns is not Twin.keeps_columns or twin.picks is not Twin.picks
    assert twin.selects is own
