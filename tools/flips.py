"""Flip single bits of stored files, and see what reading them does: ``python -m tools.flips``.

Every file of a saved model, and a Parquet file with page checksums, gets a number of flips,
each in a fresh copy. What may come of one: the file is refused with an error of ours, or the
answers are those of the sound file. Other answers without an error, another error, and the
end of the process are counted too, and none of them may happen: then the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, load, save
from pipeline.errors import PipelineError
from pipeline.serving import predict

ROWS = 2_000
ROOT = Path(__file__).parents[1]
REFUSED, SAME, WRONG, CRASH = "refused", "the same answers", "OTHER ANSWERS", "CRASH"
MODELS = {
    "boosting": XGBClassifier(n_estimators=5, max_depth=3),
    "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
}


def table(rows: int = ROWS) -> pd.DataFrame:
    """Return numbers with holes, and text."""
    chance = np.random.default_rng(0)
    X = pd.DataFrame({"n": chance.normal(size=rows), "m": chance.integers(0, 99, rows)})
    X.loc[::7, "n"] = np.nan
    return X.assign(t=chance.choice(["red", "green", "blue"], rows))


def prepare(home: Path) -> None:
    """Save a model of each kind, and a Parquet file of rows."""
    X = table()
    y = (X["m"] + 40 * (X["t"] == "red") > 60).to_numpy("int64")
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["n", "m"]),
        (OneHotEncoder(handle_unknown="ignore"), ["t"]),
    )
    for name, model in MODELS.items():
        pipeline = make_pipeline(columns, model)
        save(Accelerated(pipeline, device="cpu", profile=True).fit(X, y), home / name)
    X.to_parquet(home / "rows.parquet", write_page_checksum=True, row_group_size=500)


def answers_of_model(folder: Path) -> Any:
    """Return what a model says of the rows."""
    return load(folder, "cpu").predict_proba(table())


def answers_for_rows(folder: Path) -> Any:
    """Return what a sound model says of a file of rows, by the command's own code."""
    target = folder / "out.parquet"
    job = predict.Job(folder / "model", folder / "rows.parquet", target, "cpu", rows=700)
    predict.run(job, lambda _: None)
    return pd.read_parquet(target).to_numpy()


def outcome(answer: Callable[[Path], Any], folder: Path, wanted: Any) -> str:
    """Return what came of reading a folder in which a bit was flipped."""
    try:
        found = answer(folder)
    except PipelineError:
        return REFUSED
    except Exception as error:  # whatever gets through is what is looked for
        return f"{CRASH}: {type(error).__name__}"
    same = found.shape == wanted.shape and bool(np.array_equal(found, wanted))
    return SAME if same else WRONG


def flip(path: Path, seed: int) -> bytes:
    """Flip one bit of a file; return what it held."""
    whole = path.read_bytes()
    chance = random.Random(f"{path.name} {seed}")
    data = bytearray(whole)
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return whole


def work(folder: Path, name: str, first: int, last: int) -> None:
    """Flip bits of a file one after the other; say what came of each, a line each."""
    warnings.simplefilter("ignore")
    answer = answers_for_rows if name == "rows.parquet" else answers_of_model
    wanted = answer(folder)
    for seed in range(first, last):
        whole = flip(folder / name, seed)
        print(outcome(answer, folder, wanted), flush=True)
        (folder / name).write_bytes(whole)


def flips(folder: Path, name: str, count: int) -> Counter[str]:
    """Return how often what came of the flips of a file, each process going on after the last."""
    found: Counter[str] = Counter()
    sound = (folder / name).read_bytes()
    while (done := sum(found.values())) < count:
        (folder / name).write_bytes(sound)
        command = [sys.executable, "-m", "tools.flips", "--work", folder, name, done, count]
        ended = subprocess.run(
            [*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        found.update(ended.stdout.splitlines())
        if ended.returncode:
            found[f"{CRASH}: the process ended with {ended.returncode}"] += 1
    return found


def folders(home: Path, scratch: Path) -> list[tuple[Path, str]]:
    """Return copies to work on, and the file of each that gets the flips."""
    found = []
    for name in MODELS:
        shutil.copytree(home / name, scratch / name)
        files = (path.name for path in (home / name).iterdir() if not path.name.startswith("."))
        found += [(scratch / name, file) for file in sorted(files)]
    shutil.copytree(home / "boosting", scratch / "rows" / "model")
    shutil.copy(home / "rows.parquet", scratch / "rows" / "rows.parquet")
    return [*found, (scratch / "rows", "rows.parquet")]


def main() -> int:
    """Flip, print a line a file, and return 1 if anything was crashed or wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.flips", description=__doc__)
    parser.add_argument("--flips", type=int, default=1_000, help="of each file")
    parser.add_argument("--json", type=Path, help="file for the counts")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        folder, name, first, last = given.work
        work(Path(folder), name, int(first), int(last))
        return 0
    told: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        prepare(Path(one))
        for folder, name in folders(Path(one), Path(two)):
            found = flips(folder, name, given.flips)
            told[f"{folder.name}/{name}"] = dict(found)
            print(f"{folder.name + '/' + name:36} {dict(found)}", flush=True)
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n")
    return int(any(set(found) - {REFUSED, SAME} for found in told.values()))


if __name__ == "__main__":
    sys.exit(main())
