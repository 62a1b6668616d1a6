"""Every program on every form of its input: whole tables, some rows, targets on either side."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pipeline import Accelerated
from tests.contract.cases import CLASSIFIERS, TRANSFORMERS, Case, table, target
from tests.contract.recorder import Recorder
from tests.contract.verify import faults
from tests.names import one_in

FIRST = 9
"""Neither a multiple of eight, by which masks are cut, nor of what the nulls go by."""


class Form(NamedTuple):
    """Where a table and its target are, and from which row on."""

    table: str
    target: str
    first: int


FORMS = {
    "some rows, target of pandas": Form("cudf", "pandas", FIRST),
    "some rows, target on the device": Form("cudf", "cudf", FIRST),
    "table of pandas, target on the device": Form("pandas", "cudf", 0),
    "table on the device, target of pandas": Form("cudf", "pandas", 0),
}
CASES = TRANSFORMERS | CLASSIFIERS


def given(form: Form, host: Any, side: str) -> Any:
    """Return the rows of a table or target, taken where they are."""
    there = sys.modules["cudf"].from_pandas(host) if side == "cudf" else host
    return there.iloc[form.first :]


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
@pytest.mark.parametrize("case", one_in(6, CASES.values()), ids=list(CASES))
def test_a_form_of_the_input_makes_no_difference(case: Case, form: Form, device: Recorder) -> None:
    X = table()
    y = pd.Series(target(X, case.n_classes))
    rows = X.iloc[form.first :], y.iloc[form.first :]
    there = given(form, X, form.table)
    model = Accelerated(clone(case.estimator), device="cuda", dtype="float64")
    model.fit(there, given(form, y, form.target))
    on_cpu = Accelerated(clone(case.estimator), device="cpu", dtype="float64").fit(*rows)
    ends = isinstance(case.estimator, Pipeline) and hasattr(case.estimator, "predict")
    method = "predict_proba" if ends else "transform"
    found, expected = getattr(model, method)(there), getattr(on_cpu, method)(rows[0])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    assert faults(device.calls) == []
