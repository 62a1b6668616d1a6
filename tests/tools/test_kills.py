from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pipeline import Accelerated, save
from pipeline.errors import DataError
from pipeline.serving.save import About
from tests import programs
from tests.commands import python
from tools.kills import ENDED, NEW, OLD, Target

pytestmark = pytest.mark.slow

KILLS = 8


def test_random_kills_leave_whole_results(tmp_path: Path) -> None:
    told = tmp_path / "told" / "kills.json"
    done = python("-m", "tools.kills", "--kills", KILLS, "--commands", "run,predict,save",
                  "--json", told)  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(told.read_text())["commands"]
    counts = {what: sum(each.get(what, 0) for each in found.values()) for what in (OLD, NEW, ENDED)}
    assert sum(counts.values()) == KILLS
    assert counts[OLD] > 0, "no run was killed in the middle"


def test_results_that_are_not_whole_or_of_no_run_are_found(tmp_path: Path) -> None:
    X = programs.TABLE[["n2"]]
    X.to_parquet(tmp_path / "rows.parquet")
    model = Accelerated(LogisticRegression(), device="cpu").fit(X, programs.NUMBERS)
    save(model, tmp_path / "model-0")
    out = save(model, tmp_path / "save" / "out", About(metrics={"number": 3}))
    target = Target(tmp_path, "save", last=2)
    assert target.judge(3) == 3
    with pytest.raises(AssertionError, match="3 is neither 2 nor 4"):
        target.judge(4)
    other = Accelerated(LogisticRegression(), device="cpu").fit(X, 1 - programs.NUMBERS)
    save(other, out, About(metrics={"number": 3}))
    with pytest.raises(AssertionError):
        target.judge(3)
    part = out / "arrays.npz"
    part.write_bytes(bytes(np.frombuffer(part.read_bytes(), "uint8") ^ 1))
    with pytest.raises(DataError, match="damaged"):
        target.judge(3)
