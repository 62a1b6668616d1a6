"""The fuzzer: cases are drawn by number, and what differs is found and shown."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from tools import fuzz

SOURCE = """X = column('normal', 'float64', 0, 3).to_frame()
model = wrap(make_pipeline(MinMaxScaler(), MaxAbsScaler()))
model.fit(X)
model.transform(X)
learnt(model)"""


def test_a_case_is_a_program_that_its_number_makes() -> None:
    texts = [fuzz.Case(seed).text() for seed in range(30)]
    assert texts == [fuzz.Case(seed).text() for seed in range(30)]
    assert len(set(texts)) == 30
    assert all("model = wrap(" in text for text in texts)


def test_a_difference_is_found_and_shown(monkeypatch, capsys) -> None:
    assert fuzz.difference(SOURCE) is None
    wrong = type("Wrong", (fuzz.Accelerated,), {"transform": lambda model, X: np.ones((3, 1))})
    monkeypatch.setattr(fuzz, "Accelerated", wrong)
    found = fuzz.difference(SOURCE)
    assert found is not None
    assert found[:2] == ("model.transform(X)", "values")
    shown = fuzz.script(SOURCE, 7, found)
    assert shown.startswith("# Case 7: model.transform(X): values")
    exec(shown, {})
    assert "Error" not in capsys.readouterr().out


def test_a_known_difference_has_its_reason(monkeypatch) -> None:
    each = {"kind": "^dtype$", "program": "Scaler", "reason": "because"}
    monkeypatch.setitem(fuzz.WORDS, "known", [each])
    assert fuzz.known("MinMaxScaler()", ("model.transform(X)", "dtype", "")) == "because"
    assert fuzz.known("MinMaxScaler()", ("model.transform(X)", "values", "")) == ""


@pytest.mark.parametrize(
    ("ours", "theirs", "kind"),
    [
        (np.ones(2), np.ones(2), None),
        (np.ones(2), np.ones(2, "float32"), "dtype"),
        (np.array([None]), np.array([np.nan], object), "values"),
        (fuzz.Raised(TypeError()), fuzz.Raised(ValueError()), "raises TypeError for ValueError"),
        (fuzz.Raised(fuzz.PipelineError()), fuzz.Raised(ValueError()), None),
        (1.0, fuzz.Raised(ValueError()), "takes what raises ValueError"),
        ({"a": [1]}, {"a": [2]}, "a [0] values"),
        ("a", "b", "value"),
        (StandardScaler(), StandardScaler(), None),
    ],
)
def test_results_are_compared(ours, theirs, kind) -> None:
    found = fuzz.compare(ours, theirs, 0.0)
    assert (found and found[0]) == kind
