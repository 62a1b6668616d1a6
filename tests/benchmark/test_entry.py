"""A process whose scikit-learn is replaced before the program is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.benchmark.entry import PATCHES
from pipeline.benchmark.task import Job
from pipeline.benchmark.worker import WorkerFailed, WorkerProcess
from pipeline.optional import available

ROOT = Path(__file__).parents[2]
STAND_IN = """
def patch_sklearn():
    import sklearn.linear_model as module
    class LogisticRegression(module.LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X) * 0 + 0.5
    LogisticRegression.__module__ = "sklearnex.linear_model"
    module.LogisticRegression = LogisticRegression
"""
"""A module whose classes can be told from scikit-learn's."""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sklearnex.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_nothing_is_imported_before_the_classes_are_replaced() -> None:
    code = (
        "import pipeline.benchmark.entry, sys; "
        "print([n for n in ('sklearn', 'numpy', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
def test_the_program_gets_the_other_classes(stand_in: Path, small_flights: Path) -> None:
    with WorkerProcess(Job("flights", "logistic", "intelex", small_flights)) as worker:
        report = worker.run()
    assert set(report.predicted) == {0.5}
    assert report.placements[-1].implementation == "sklearnex.LogisticRegression"


@pytest.mark.slow
def test_other_variants_keep_scikit_learn(stand_in: Path, small_flights: Path) -> None:
    with WorkerProcess(Job("flights", "logistic", "reference", small_flights)) as worker:
        report = worker.run()
    assert len(set(report.predicted)) > 9
    assert report.placements[-1].implementation == "sklearn.LogisticRegression"


@pytest.mark.slow
def test_classes_that_cannot_be_replaced_fail_the_variant(
    stand_in: Path, small_flights: Path
) -> None:
    (stand_in / "sklearnex.py").write_text("raise OSError('libtbb.so.12')")
    with WorkerProcess(Job("flights", "logistic", "intelex", small_flights)) as worker:
        message = "sklearnex.patch_sklearn() failed: OSError: libtbb.so.12"
        for _ in range(2):
            with pytest.raises(WorkerFailed, match="failed") as caught:
                worker.run()
            assert str(caught.value) == message


@pytest.mark.contract_live
@pytest.mark.skipif(not available("cuml"), reason="not installed: cuml")
def test_cuml_accel_has_what_is_called_and_read() -> None:
    code = (
        "from pipeline.benchmark.entry import patch; assert patch('accel') == '';"
        "from sklearn.linear_model import LogisticRegression as L;"
        "from pipeline.benchmark import measure;"
        "p = measure._placed(L(), 'new');"
        "print(p.implementation, p.device, L()._gpu, L()._cpu_class.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1]
    assert last == (
        "cuml.accel LogisticRegression cuda or cpu None sklearn.linear_model._logistic"
    ), done.stderr


def test_every_patched_variant_is_one_that_runs_the_program_as_it_is() -> None:
    from pipeline.benchmark.measure import PLAIN

    assert {"reference", *PATCHES} == set(PLAIN)
