"""What `Space` draws, against scikit-learn's `ParameterSampler`, scipy and Optuna itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import optuna
import pytest
import scipy.stats
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import ParameterSampler
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.errors import ConfigError
from pipeline.tuning.space import Space, described, digest

optuna.logging.set_verbosity(optuna.logging.WARNING)

PIPE = make_pipeline(StandardScaler(), LogisticRegression())
STEPS = Pipeline([("scale", StandardScaler()), ("last", Ridge())])
MODEL = Accelerated(PIPE, device="cpu")


def named(value: object) -> str:
    """Return the name of a case, which is the same in every process."""
    return re.sub(r" at 0x\w+", "", str(value))


class Anything(BaseEstimator):
    """An estimator with a parameter that takes any value."""

    def __init__(self, a: Any = None, b: Any = None) -> None:
        self.a = a
        self.b = b


def new_study(sampler: Any = None) -> optuna.Study:
    return optuna.create_study(sampler=sampler or RandomSampler(seed=0))


def candidates(space: Space, n: int) -> list[dict[str, Any]]:
    study = new_study()
    return [space.read(study.ask(space.distributions).params) for _ in range(n)]


def values(given: Any, n: int = 800) -> list[Any]:
    """Draw values of one parameter."""
    return [each["a"] for each in candidates(Space.of({"a": given}, Anything()), n)]


def same_again(x: Any) -> Any:
    return x


def negative(x: Any) -> Any:
    return -x


# ---- scipy's distributions


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (scipy.stats.uniform(2, 3), FloatDistribution(2, 5)),
        (scipy.stats.uniform(scale=4), FloatDistribution(0, 4)),
        (scipy.stats.reciprocal(1e-4, 1), FloatDistribution(1e-4, 1, log=True)),
        (scipy.stats.loguniform(1, 10, scale=5), FloatDistribution(5, 50, log=True)),
        (scipy.stats.randint(3, 9), IntDistribution(3, 8)),
        (scipy.stats.randint(3, 9, loc=-1), IntDistribution(2, 7)),
    ],
)
def test_what_optuna_has_is_optunas(given: Any, expected: Any) -> None:
    assert Space.of({"a": given}, Anything()).distributions == {"a": expected}


# ---- lists


@pytest.mark.parametrize(
    "given",
    [
        (None, True, "auto", 0.5),
        np.array(["l1", "l2"], dtype=object),
        [np.float32(0.5), np.int64(3), np.bool_(True)],
        [True, 1, 1.0, 0, False, "1"],
        ["1", "1 (2)", True, 1, (1,), "(1,)"],
        [same_again, negative, np.log1p],
        [10**20, -1],
        [float("inf"), 1.0],
    ],
    ids=named,
)
def test_support_is_that_of_parameter_sampler(given: Any) -> None:
    reference = [each["a"] for each in ParameterSampler({"a": given}, len(given), random_state=0)]
    plain = [each.item() if isinstance(each, np.generic) else each for each in reference]
    assert {(type(v), v) for v in values(given, 200)} == {(type(v), v) for v in plain}


def test_estimators_come_back_as_clones() -> None:
    given = [StandardScaler(), MinMaxScaler(), "passthrough", ("scale", StandardScaler())]
    drawn = values(given, 60)
    kinds = {type(each).__name__ for each in drawn}
    assert kinds == {"StandardScaler", "MinMaxScaler", "str", "tuple"}
    scalers = [each for each in drawn if isinstance(each, StandardScaler)]
    scalers += [each[1] for each in drawn if isinstance(each, tuple)]
    assert len({id(each) for each in scalers}) == len(scalers)
    assert given[0] not in scalers


# ---- the estimator as it is


@pytest.mark.parametrize(
    ("given", "value", "first"),
    [
        ([0.1, StandardScaler()], StandardScaler(), StandardScaler()),
        ([None, same_again], same_again, same_again),
        (FloatDistribution(0.5, 2), 1, 1.0),
        (IntDistribution(1, 4), np.int64(2), 2),
        ([True, 1], True, True),
        ([1, 1.0], 1.0, 1.0),
        ([0.5, np.arange(3)], 0.5, 0.5),
    ],
    ids=named,
)
def test_what_is_placed_is_drawn_first(given: Any, value: Any, first: Any) -> None:
    space = Space.of({"a": given}, Anything())
    placed = space.place({"a": value, "b": None})
    assert placed is not None
    study = new_study()
    study.enqueue_trial(placed)
    drawn = space.read(study.ask(space.distributions).params)["a"]
    assert digest(described([drawn])) == digest(described([first]))


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ([1, 2], 3),
        ([1, 2], True),
        ([1, 2], 1.0),
        (FloatDistribution(0.1, 1.0), 1),
        ([StandardScaler()], StandardScaler(with_mean=False)),
        ([same_again], negative),
        (FloatDistribution(0.5, 2), 2.5),
        (FloatDistribution(0.5, 2), True),
        (FloatDistribution(0.5, 2, log=True), -1.0),
        (FloatDistribution(0.5, 2, step=0.5), 0.75),
        (IntDistribution(1, 4), 2.5),
        (IntDistribution(1, 4), np.nan),
    ],
    ids=named,
)
def test_what_is_outside_has_no_place(given: Any, value: Any) -> None:
    space = Space.of({"a": given}, Anything())
    assert space.place({"a": value}) is None
    assert space.place({}) is None


def test_none_of_xgboost_is_what_xgboost_takes_for_it() -> None:
    space = Space.of({"learning_rate": FloatDistribution(0.1, 1)}, XGBClassifier())
    assert space.place(XGBClassifier().get_params()) == {"learning_rate": 0.3}
    assert space.place(XGBClassifier(learning_rate=0.5).get_params()) == {"learning_rate": 0.5}


# ---- descriptions

DIFFERENT: Sequence[Any] = [
    [1, 2],
    [1, 2.0],
    [True, 2],
    ["1", "2"],
    [same_again],
    [negative],
    [SVC(C=3)],
    [np.arange(2000)],
    [np.arange(2000) + 0.0],
    [Pipeline([("a", SVC())])],
    [FunctionTransformer(same_again)],
    [FunctionTransformer(negative)],
    [partial(same_again, 1)],
    FloatDistribution(0, 1),
    FloatDistribution(0.5, 1, log=True),
    IntDistribution(0, 1),
]


def test_descriptions_tell_spaces_apart() -> None:
    said = [Space.of({"a": each}, Anything()).parameters["a"].text for each in DIFFERENT]
    assert len(set(said)) == len(said)


def test_a_set_is_described_in_the_order_of_its_texts() -> None:
    words = {"pie", "apple", "tart", "cherry"}
    text = Space.of({"a": [words, {"x"}]}, Anything()).parameters["a"].text
    assert "{'apple', 'cherry', 'pie', 'tart'}" in text


# ---- errors


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], r"space\['a'\] is empty"),
        (0.5, r"space\['a'\] is 0.5; pass a list of values, or a distribution of Optuna"),
        ({1, 2}, "pass a list"),
        (scipy.stats.norm(3), r"space\['a'\] is scipy.stats.norm .*pass a FloatDistribution"),
        (scipy.stats.loguniform(1, 10, loc=2), "only uniform, loguniform without loc"),
        (scipy.stats.uniform, "is <scipy.stats"),
        (scipy.stats.uniform(0, -1), "with finite bounds are supported"),
        (FloatDistribution(0, float("inf")), "has the bounds 0.0 and inf"),
    ],
    ids=named,
)
def test_what_nothing_can_be_drawn_from_is_refused(given: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Space.of({"a": given}, Anything())


@pytest.mark.parametrize(
    ("given", "estimator", "says"),
    [
        ({"C": [1]}, MODEL, "did you mean 'estimator__logisticregression__C'"),
        ({"logisticregression__C": [1]}, MODEL, "did you mean 'estimator__logisticregression__C'"),
        ({"zzz": [1]}, PIPE, r"see its get_params\(\)"),
        ({}, PIPE, "space is empty"),
        (5, PIPE, "space is of type int"),
        ([{"a": [1]}], PIPE, "one search for each of several spaces"),
        ("all", PIPE, "space='all' is unknown; pass 'default' or a mapping"),
    ],
    ids=named,
)
def test_other_spaces_are_refused(given: Any, estimator: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Space.of(given, estimator)


def test_parameters_of_replaced_steps_are_known() -> None:
    given = {"last": [HistGradientBoostingClassifier()], "last__max_iter": [5]}
    drawn = candidates(Space.of(given, STEPS), 1)[0]
    assert STEPS.set_params(**drawn).get_params()["last__max_iter"] == 5
