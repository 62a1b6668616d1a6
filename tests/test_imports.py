from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pipeline

ROOT = Path(__file__).parents[1]
GPU = ["cudf", "cuml", "cupy", "rmm"]
HEAVY = ["dask", "xgboost", "matplotlib"]


def loaded_by(statement: str, names: list[str]) -> str:
    """Run a statement in a fresh interpreter; return which of the packages it loaded."""
    code = f"import sys; {statement}; print([n for n in {names!r} if n in sys.modules])"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "statement",
    ["import pipeline", "from pipeline import Unsupported", "dir(__import__('pipeline'))"],
)
def test_importing_the_package_loads_nothing_heavy(statement: str) -> None:
    names = [*GPU, *HEAVY, "sklearn", "pandas", "numpy", "scipy", "click", "rich"]
    assert loaded_by(statement, names) == "[]"


def test_importing_the_estimator_loads_no_gpu_and_no_xgboost() -> None:
    statement = "from pipeline import Accelerated, explain"
    assert loaded_by(statement, [*GPU, *HEAVY]) == "[]"


def test_a_program_without_xgboost_never_loads_it() -> None:
    statement = (
        "import numpy as np; from pipeline import Accelerated; "
        "from sklearn.linear_model import LinearRegression; "
        "Accelerated(LinearRegression(), device='cpu').fit(np.eye(2), [0.0, 1.0])"
    )
    assert loaded_by(statement, [*GPU, *HEAVY]) == "[]"


def test_a_small_script_under_accel_loads_no_engine() -> None:
    statement = (
        "import numpy as np; from pipeline import accel; accel.install(device='cpu'); "
        "from sklearn.preprocessing import StandardScaler; StandardScaler().fit(np.eye(2)); "
        "assert accel.calls()[0].ran == 'plain'"
    )
    engine = ["pipeline.model", "pipeline.compile", "pipeline.twins", "pipeline.accel.engine"]
    assert loaded_by(statement, [*GPU, *HEAVY, *engine]) == "[]"


def test_public_names_are_sorted_and_there() -> None:
    assert pipeline.__all__ == sorted(pipeline.__all__)
    for name in pipeline.__all__:
        assert getattr(pipeline, name).__name__ == name
        assert name in dir(pipeline)


def test_unknown_names_are_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pipeline' has no attribute 'Accelerate'"):
        pipeline.Accelerate  # noqa: B018
