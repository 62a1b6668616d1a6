"""The harness of scikit-learn's own tests: what stands in their places, and what is counted."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated
from tools.sklearn_suite import stand_ins
from tools.sklearn_suite.__main__ import Result
from tools.sklearn_suite.plugin import Expected, swapped

X = np.arange(12.0).reshape(6, 2)
Scaler = stand_ins.STAND_INS[StandardScaler]


def pipeline_of_stand_ins():
    return stand_ins.STAND_INS[Pipeline]([("s", Scaler()), ("m", LinearRegression())])


def test_a_stand_in_is_the_class_that_it_stands_for() -> None:
    assert Scaler == StandardScaler
    assert isinstance(StandardScaler(), Scaler)
    assert isinstance(Scaler(), StandardScaler)
    assert repr(Scaler(with_mean=False)) == "StandardScaler(with_mean=False)"
    assert inspect.signature(Scaler.fit) == inspect.signature(StandardScaler.fit)


def test_its_methods_are_those_of_ours(monkeypatch) -> None:
    given = []
    fit = Accelerated.fit
    monkeypatch.setattr(Accelerated, "fit", lambda model, X: given.append(model) or fit(model, X))
    scaler = Scaler().fit(X)
    ((model),) = given
    assert type(model.estimator) is StandardScaler
    assert model.device == "cpu"
    assert scaler.mean_.tolist() == [5, 6]
    assert np.array_equal(scaler.transform(X), StandardScaler().fit_transform(X))
    with pytest.raises(NotFittedError, match="Accelerated"):
        clone(scaler).transform(X)


def test_a_pipeline_of_stand_ins_is_given_to_ours_with_the_classes_of_scikit_learn() -> None:
    spec = pipeline_of_stand_ins()
    real = stand_ins.real_of(spec)
    assert (type(real), type(real[0]), type(spec[0])) == (Pipeline, StandardScaler, Scaler)
    fitted = spec.fit(X, X[:, 0])
    assert fitted[0].mean_.tolist() == [5, 6]
    assert np.allclose(pickle.loads(pickle.dumps(fitted)).predict(X), X[:, 0])


def test_the_stand_ins_are_there_while_a_module_is_imported_and_no_longer() -> None:
    import sklearn.pipeline
    import sklearn.preprocessing

    with swapped(finals=False):
        assert type(sklearn.preprocessing.OneHotEncoder) is stand_ins.StandInType
        assert type(type(sklearn.pipeline.make_pipeline(Scaler()))) is stand_ins.StandInType
    assert sklearn.preprocessing.OneHotEncoder is OneHotEncoder
    assert type(sklearn.pipeline.make_pipeline(Scaler())) is Pipeline


def outcome(outcome="passed", ours=True, words=""):
    return {"outcome": outcome, "ours": ours, "words": words}


XPASS = outcome("failed", words="[XPASS(strict)] no")


@pytest.mark.parametrize(
    ("ours", "complaint"),
    [
        ({"a": outcome(), "b": outcome("xfailed")}, None),
        ({"a": outcome("failed"), "b": outcome("xfailed")}, "fails: a"),
        ({"a": outcome(), "b": XPASS}, "passes, so it must leave the list: b"),
        ({"a": outcome()}, "no such test, so it must leave the list: b"),
        ({"b": outcome("xfailed")}, "the share is below the declared 50.0%"),
    ],
)
def test_what_is_wrong_is_said(ours, complaint) -> None:
    found = Result(ours, dict.fromkeys(ours, outcome()), Expected(0.5, {"b": "why"}))
    complaints = found.complaints(whole=True)
    assert complaints == [] if complaint is None else complaints[0].startswith(complaint)


def test_a_test_is_listed_once(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    text = "share: 0.5\nfailures:\n- reason: a\n  tests: [x]\n- reason: b\n  tests: ["
    file.write_text(text + "'y[*]']")
    assert Expected.read(file).reason("y[1-[a]]") == "b"
    assert Expected.read(file).unused(["x", "z"]) == {"y[*]"}
    file.write_text(text + "'y[*]']\n  but: ['y[2]']")
    assert [Expected.read(file).reason(f"y[{i}]") for i in (1, 2)] == ["b", ""]
    file.write_text(text + "x]")
    with pytest.raises(ValueError, match="twice: x"):
        Expected.read(file)
