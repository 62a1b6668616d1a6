"""A machine without memory, disk or files to open: told by name, with what was there left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import Accelerated, save
from tests import programs
from tests.commands import ROOT, Done, assert_one_message, python

pytestmark = pytest.mark.slow

NARROW = """
import resource, sys, warnings
from pathlib import Path
import numpy as np, pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier
from pipeline import Accelerated
from pipeline.errors import PipelineError

warnings.simplefilter("ignore")
X = pd.DataFrame(np.random.default_rng(0).normal(size=(300_000, 20))).rename(columns=str)
y = (X["0"] > 0).astype(int).to_numpy()
pipelines = make_pipeline(StandardScaler(), LogisticRegression()), XGBClassifier(n_estimators=3)
models = [Accelerated(pipeline, device="cpu") for pipeline in pipelines]
for model in models:  # what is loaded and started, is before the limit
    model.fit(X.head(500), y[:500]).predict(X.head(500))
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + 16 * 1024**2
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for model in models:
    try:
        model.fit(X, y)
    except PipelineError as error:
        print(error.exit_code, error)
"""


def test_memory_that_runs_out_is_told_with_the_step_whichever_library_wants_it() -> None:
    done = python("-c", NARROW)
    assert done.code == 0, done.err
    said = done.out.splitlines()
    assert len(said) == 2, said
    assert said[0].startswith("71 standardscaler: the memory of the machine ran out in fit")
    assert said[1].startswith("71 xgbclassifier: the memory of the machine ran out in fit")


@pytest.fixture
def disk(tmp_path: Path) -> str:
    """Return the shell command that makes ``disk`` a file system of 1 MiB."""
    (tmp_path / "disk").mkdir()
    mount = f"mount -t tmpfs -o size=1m none '{tmp_path / 'disk'}'"
    if not shutil.which("unshare") or in_own_mounts(mount).code:
        pytest.skip("this user may not mount a small disk")
    return mount


def in_own_mounts(command: str) -> Done:
    """Run a shell command whose mounts nobody else sees."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command],
        capture_output=True, text=True, cwd=ROOT, timeout=600, check=False,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("command", ["run", "compare", "predict"])
def test_what_does_not_fit_on_the_disk_leaves_what_was_there(
    command: str, disk: str, small_home: Path, tmp_path: Path
) -> None:
    out = tmp_path / "disk" / "out"
    old = out / ("" if command == "predict" else "results.json")
    options = f"flights --pipelines logistic --data-home '{small_home}' --out '{out}'"
    if command == "predict":
        model = Accelerated(programs.program(), device="cpu").fit(programs.TABLE, programs.NUMBERS)
        programs.TABLE.to_parquet(tmp_path / "in.parquet")
        options = f"'{save(model, tmp_path / 'model')}' '{tmp_path / 'in.parquet'}' '{out}'"
    done = in_own_mounts(
        f"{disk} && mkdir -p '{old.parent}' && printf old > '{old}' && "
        f"head -c 1020k /dev/zero > '{tmp_path / 'disk' / 'full'}'; '{sys.executable}' -m pipeline "
        f"{command} {options} --device cpu; code=$?; cat '{old}'; exit $code"
    )
    assert_one_message(done, 73, "No space left on device")
    assert done.out.endswith("old")
