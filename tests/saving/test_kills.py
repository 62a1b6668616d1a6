"""A save that is killed leaves the model that was there, or the new one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge

from pipeline import Accelerated
from pipeline.saving import About, load, manifest, save
from tests.commands import ROOT

SAVES = """
import sys
from pipeline.saving import About, load, save
model = load(sys.argv[1], "cpu")
print("ready", flush=True)
for number in range(10**6):
    save(model, sys.argv[1], About(metrics={"number": number}))
"""


def test_a_killed_save_leaves_a_whole_model(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(50, 400))
    model = Accelerated(Ridge(), device="cpu").fit(X, X[:, 0])
    folder = save(model, tmp_path / "model", About(metrics={"number": -1.0}))
    command = [sys.executable, "-c", SAVES, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(random.Random(0).uniform(0.1, 0.6))
        process.send_signal(signal.SIGKILL)
    described, _ = manifest.read(folder)
    assert described.metrics["number"] >= 0
    np.testing.assert_array_equal(load(folder, "cpu").predict(X), model.predict(X))
    save(model, folder)
    left = {path.name for path in tmp_path.iterdir()} - {".model.lock"}
    assert left == {"model"}
