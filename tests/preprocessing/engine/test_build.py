from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import NMF, PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pipeline.errors import ConfigError, Unsupported
from pipeline.preprocessing.engine.build import build
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.engine.tree import selected
from pipeline.preprocessing.engine.unsupported import reasons
from tests.names import plain

HEAD = pd.DataFrame({"a": [1.0], "b": [2], "t": ["x"]})
BOTH = {"a": StandardScaler(), "b": StandardScaler()}


class OwnScaler(StandardScaler):
    """A subclass may do anything."""


def only(name: str, how: Any, columns: Any, **params: Any) -> ColumnTransformer:
    return ColumnTransformer([(name, how, columns)], **params)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (["t", "a"], ["t", "a"]),
        (("a", "b"), ["a", "b"]),
        ([2, 0], ["t", "a"]),
        ([-1], ["t"]),
        (np.array([1]), ["b"]),
        (np.array(["b"], dtype=object), ["b"]),
        (pd.Index(["b"]), ["b"]),
        ([True, False, True], ["a", "t"]),
        (np.array([False, True, False]), ["b"]),
        (pd.Series([False, True, True], index=["a", "b", "t"]), ["b", "t"]),
        (slice(None), ["a", "b", "t"]),
        (slice(1, None), ["b", "t"]),
        (slice("a", "b"), ["a", "b"]),
        (slice("b", None), ["b", "t"]),
        ([], []),
        (make_column_selector(dtype_include=np.number), ["a", "b"]),
        (make_column_selector(pattern="^[bt]$"), ["b", "t"]),
    ],
    ids=plain,
)
def test_selected_reads_keys_as_sklearn_does(key: Any, expected: list[str]) -> None:
    assert selected(HEAD, key, "step") == expected
    estimator = only("x", "passthrough", key)
    if expected:
        fitted = estimator.fit(HEAD)
        assert fitted.get_feature_names_out().tolist() == [f"x__{name}" for name in expected]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (["a", "zz"], "zz"),
        ([7], "must be in"),
        ([True, False], "must be in"),
        (slice("a", "zz"), "zz"),
        (None, "None"),
        ("a", r"not a list; write \['a'\]"),
        (1, r"not a list; write \[1\]"),
        (range(2), r"not a list; write \[0, 1\]"),
    ],
    ids=plain,
)
def test_selected_refuses_bad_keys_with_the_step(key: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        selected(HEAD, key, "ct.numbers")
    assert str(caught.value).startswith("ct.numbers: ")


def test_reasons_from_everywhere_come_at_once() -> None:
    estimator = ColumnTransformer(
        [
            ("p", PCA(), ["a"]),
            ("i", SimpleImputer(missing_values=-1, strategy=np.max), ["t"]),
            ("f", StandardScaler(), lambda X: ["b"]),
        ],
        remainder=NMF(),
        transformer_weights={"p": 2.0},
    )
    with pytest.raises(Unsupported) as caught:
        build(estimator, HEAD, "ct")
    found = [(reason.step, reason.parameter) for reason in caught.value.reasons]
    assert found == [
        ("ct", "transformer_weights"),
        ("ct.f", None),
        ("ct.p", None),
        ("ct.i", "missing_values"),
        ("ct.i", "strategy"),
        ("ct.remainder", None),
    ]


@pytest.mark.parametrize(
    "steps",
    [
        [("scale", StandardScaler()), ("ct", only("n", StandardScaler(), [0]))],
        [
            ("scale", StandardScaler()),
            ("in", Pipeline([("ct", only("n", StandardScaler(), [0]))])),
        ],
        [("ct1", only("n", StandardScaler(), [0])), ("ct2", only("n", StandardScaler(), [0]))],
    ],
    ids=["second", "first of the second", "two"],
)
def test_column_transformer_after_another_step_is_refused(steps: list[Any]) -> None:
    (reason,) = reasons(only("x", Pipeline(steps), ["a", "b"]), "s")
    assert reason.why == "a ColumnTransformer must come first in its pipeline"


@pytest.mark.parametrize(
    ("estimator", "path"),
    [
        (ColumnTransformer([("n", BOTH["a"], ["a"]), ("n", BOTH["b"], ["b"])]), "s"),
        (only("a__b", StandardScaler(), ["a"]), "s"),
        (only("n", Pipeline([("p", BOTH["a"]), ("p", BOTH["b"])]), ["a"]), "s.n"),
    ],
    ids=["twice", "underscores", "twice inside"],
)
def test_names_that_sklearn_refuses(estimator: Any, path: str) -> None:
    with pytest.raises(ConfigError, match=f"^{path}: "):
        Program(estimator, step="s").fit(HEAD)
