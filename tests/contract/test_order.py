"""The matrix is made in the order that the estimator behind it learns from, without a copy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.discovery import all_estimators

from pipeline import Accelerated
from pipeline.backends.cuml.estimator import Cuml
from pipeline.backends.cuml.tables import CUML
from pipeline.optional import available, load
from pipeline.preprocessing.engine import table
from tests.contract import cases

DENSE = {
    path: rule
    for path, rule in CUML.items()
    if path.startswith("sklearn.") and not rule.translation
}
CLASSES = dict(all_estimators())
ELSEWHERE = {
    "ElasticNet": "solvers/cd.pyx",
    "Lasso": "solvers/cd.pyx",
    "LinearSVC": "svm/linear.pyx",
    "LinearSVR": "svm/linear.pyx",
}
"""Where cuML prepares the matrix of a class in another file than its own."""


def program(path: str) -> Any:
    encode = make_column_transformer(
        (StandardScaler(), ["count"]), (OneHotEncoder(), ["town"]), ("passthrough", ["member"])
    )
    last = CLASSES[path.rpartition(".")[2]]()
    if "affinity" in last.get_params():
        last.set_params(affinity="nearest_neighbors")
    return make_pipeline(encode, last)


@pytest.mark.parametrize("path", DENSE)
@pytest.mark.usefixtures("device")
def test_the_matrix_has_the_order_of_the_estimator(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "GPU_CELLS", 1000)
    seen: list[Any] = []

    def learnable(self: Cuml, X: Any, *_: Any) -> Any:
        seen.append(X)
        raise KeyboardInterrupt

    monkeypatch.setattr(Cuml, "_learnable", learnable)
    X = cases.table()
    with pytest.raises(KeyboardInterrupt):
        Accelerated(program(path), device="cuda").fit(X, cases.target(X))
    (matrix,) = seen
    flags = {"C": "c_contiguous", "F": "f_contiguous"}
    assert getattr(matrix.flags, flags[DENSE[path].order])
    expected = program(path)[0].fit_transform(X).toarray()
    np.testing.assert_allclose(matrix.get(), expected, rtol=1e-6)


def written(path: str) -> str:
    """Return the source in which cuML prepares the matrix of a class."""
    rule = DENSE[path]
    name = rule.twin.rpartition(".")[2]
    home = Path(load("cuml").__file__).parent
    module = load(rule.twin).__module__.replace(".", "/").removeprefix("cuml/")
    own = [home / f"{module}.{ending}" for ending in ("py", "pyx")]
    file = home / ELSEWHERE[name] if name in ELSEWHERE else next(f for f in own if f.exists())
    return file.read_text()


@pytest.mark.contract_live
@pytest.mark.skipif(not available("cuml"), reason="not installed: cuml")
@pytest.mark.parametrize("path", [path for path, rule in DENSE.items() if rule.order == "F"])
def test_cuml_copies_what_is_in_another_order(path: str) -> None:
    prepared = re.findall(
        r"(?:check_inputs|cp\.array)\([^()]*(?:\([^()]*\)[^()]*)*\)", written(path)
    )
    assert any('order="F"' in call for call in prepared)
