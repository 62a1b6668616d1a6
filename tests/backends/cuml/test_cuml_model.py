from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pipeline.backends.cuml.cuml_model import Cuml, list_dropped, translate
from pipeline.backends.gpu_rules import Rule
from pipeline.errors import Unsupported
from tests.backends.fakes import PATH

RULE = Rule(0, twin=PATH)
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 0.0]], dtype="float32")
y = np.array([0, 0, 1, 1])


def test_parameters_are_translated_and_refused_by_cuml_itself() -> None:
    estimator = LogisticRegression(C=0.25, fit_intercept=False)
    assert translate(RULE, estimator, "s") == {"C": 0.25, "fit_intercept": False}
    with pytest.raises(Unsupported) as caught:
        Cuml(LogisticRegression(dual=True), RULE, "model")
    (reason,) = caught.value.reasons
    assert (reason.step, reason.why) == ("model", "cuML: `dual=True` is not supported")
    assert "device='auto'" in reason.instead


def test_what_cuml_drops_in_silence_is_listed() -> None:
    estimator = LogisticRegression(C=0.5, solver="saga", random_state=7, warm_start=True)
    dropped = list_dropped(RULE, estimator, "s")
    assert sorted(dropped) == ["random_state=7", "solver='saga'", "warm_start=True"]
    assert list_dropped(RULE, LogisticRegression(), "s") == []


def test_numbers_of_numpy_are_those_of_python() -> None:
    estimator = LogisticRegression(
        C=np.float32(0.5), fit_intercept=np.bool_(False), max_iter=np.int64(100)
    )
    given = translate(RULE, estimator, "s")
    assert given == {"C": 0.5, "fit_intercept": False}
    assert [type(value) for value in given.values()] == [float, bool]
    assert list_dropped(RULE, estimator, "s") == []
    assert type(estimator.C) is np.float32
    with pytest.raises(Unsupported, match="dual=True"):
        translate(RULE, LogisticRegression(dual=np.bool_(True)), "s")
