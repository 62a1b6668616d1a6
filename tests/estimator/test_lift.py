"""A lifted model is scikit-learn's or XGBoost's alone, where nothing of ours is installed."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import skops.io

from tests.names import one_in
from tests.programs import MODELS, NUMBERS, TABLE, on_cpu, program

FOREIGN = """
import sys
from pathlib import Path

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"cudf", "cuml", "cupy", "cupyx", "rmm", "pipeline", "tests"}:
            raise ModuleNotFoundError(f"blocked: {name}")

sys.meta_path.insert(0, Blocked())
import pickle
import numpy as np
import pandas as pd

folder = Path(sys.argv[1])
X = pd.read_parquet(folder / "X.parquet")
if (folder / "model.pickle").is_file():
    model = pickle.loads((folder / "model.pickle").read_bytes())
else:
    import skops.io
    strangers = skops.io.get_untrusted_types(file=folder / "model.skops")
    model = skops.io.load(folder / "model.skops", trusted=strangers)
np.save(folder / "answers.npy", model.predict_proba(X))
"""


def pickled(model: object, folder: Path) -> None:
    (folder / "model.pickle").write_bytes(pickle.dumps(model))


def dumped(model: object, folder: Path) -> None:
    skops.io.dump(model, folder / "model.skops")


def elsewhere(folder: Path) -> subprocess.CompletedProcess[str]:
    """Load and ask the model in a fresh interpreter that has neither us nor RAPIDS."""
    run = [sys.executable, "-I", "-c", FOREIGN, str(folder)]
    return subprocess.run(run, capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("write", [pickled, dumped], ids=lambda write: write.__name__)
@pytest.mark.parametrize("name", one_in(3, MODELS))
def test_it_predicts_where_neither_we_nor_a_gpu_are(
    name: str, write: object, tmp_path: Path
) -> None:
    model = on_cpu(program(MODELS[name])).fit(TABLE, NUMBERS)
    lifted = model.certify(TABLE).require() and model.to_sklearn()
    write(lifted, tmp_path)
    TABLE.to_parquet(tmp_path / "X.parquet")
    done = elsewhere(tmp_path)
    assert done.returncode == 0, done.stderr
    answers = np.load(tmp_path / "answers.npy")
    np.testing.assert_array_equal(answers, lifted.predict_proba(TABLE))
    np.testing.assert_allclose(answers, model.predict_proba(TABLE), rtol=1e-4, atol=1e-5)


def test_a_model_that_needs_us_is_found(tmp_path: Path) -> None:
    pickled(on_cpu().fit(TABLE, NUMBERS), tmp_path)
    TABLE.to_parquet(tmp_path / "X.parquet")
    assert "blocked: pipeline" in elsewhere(tmp_path).stderr
