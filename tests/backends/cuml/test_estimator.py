from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pipeline.backends.cuml.estimator import Cuml, list_dropped, translate
from pipeline.backends.cuml.tables import Rule
from pipeline.errors import DataError, Unsupported
from tests.backends.fakes import PATH

RULE = Rule(PATH)
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 0.0]], dtype="float32")
y = np.array([0, 0, 1, 1])


def test_parameters_are_translated_by_cuml_itself() -> None:
    estimator = LogisticRegression(C=0.25, fit_intercept=False)
    assert translate(RULE, estimator, "s") == {"C": 0.25, "fit_intercept": False}


def test_refused_values_become_a_reason_with_the_way_out() -> None:
    with pytest.raises(Unsupported) as caught:
        Cuml(LogisticRegression(dual=True), RULE, "model")
    (reason,) = caught.value.reasons
    assert (reason.step, reason.why) == ("model", "cuML: `dual=True` is not supported")
    assert "device='auto'" in reason.instead


def test_what_cuml_drops_in_silence_is_found() -> None:
    estimator = LogisticRegression(C=0.5, solver="saga", random_state=7, warm_start=True)
    found = list_dropped(RULE, estimator, "s")
    assert sorted(found) == ["random_state=7", "solver='saga'", "warm_start=True"]
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


def test_fits_and_predicts_with_the_parameters_of_the_spec() -> None:
    estimator = LogisticRegression(C=0.5)
    model = Cuml(estimator, RULE, "model")
    model.fit(X, y)
    assert model.native.C == 0.5
    assert model.call("predict", X).tolist() == estimator.fit(X, y).predict(X).tolist()


def test_hand_over_has_every_parameter_of_the_spec() -> None:
    estimator = LogisticRegression(C=0.5, solver="saga", random_state=7)
    model = Cuml(estimator, RULE, "model")
    model.fit(X, y)
    plain = model.to_sklearn()
    assert type(plain) is LogisticRegression
    assert plain.get_params() == estimator.get_params()
    assert plain.predict(X).tolist() == model.call("predict", X).tolist()


def test_missing_values_are_refused_with_the_way_out() -> None:
    model = Cuml(LogisticRegression(), RULE, "forest")
    with pytest.raises(DataError, match="^forest: cuML does not take missing.*impute them"):
        model.fit(np.where(X == 0, np.nan, X), y)
