from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    QuantileTransformer,
)

from pipeline.compile.program import Program
from pipeline.errors import Unsupported
from pipeline.preprocessing.transformers import TWINS
from tests.names import plain

HONOURED = "use "
REFUSED: list[tuple[Any, str, str]] = [
    *((SimpleImputer(missing_values=m), "missing_values", HONOURED) for m in (-1, 0, "")),
    *((MissingIndicator(missing_values=m), "missing_values", HONOURED) for m in (0, -1, "", 1.5)),
    (SimpleImputer(strategy=np.max), "strategy", HONOURED),
    (FunctionTransformer(feature_names_out=len), "feature_names_out", HONOURED),
    (QuantileTransformer(ignore_implicit_zeros=True), "ignore_implicit_zeros", HONOURED),
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


@pytest.mark.parametrize("original", TWINS, ids=lambda original: original.__name__)
def test_every_parameter_is_honoured_or_refused(original: type) -> None:
    """A value no twin knows is let through only where every value is honoured."""
    twin = TWINS[original]
    for parameter in original().get_params():
        estimator = original().set_params(**{parameter: object()})
        reasons = twin.unsupported_reasons(estimator, "step")
        honours_all = twin.supported_params.get(parameter) == ()
        assert [reason.parameter for reason in reasons] == ([] if honours_all else [parameter])
