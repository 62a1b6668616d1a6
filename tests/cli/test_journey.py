"""From a table as people have it to predictions of the same file, by commands alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.commands import ROOT

ROWS = 240
DRAW = np.random.default_rng(0)
MASS = DRAW.integers(2_700, 6_300, ROWS)
DAYS = pd.Timestamp("2023-01-01") + pd.to_timedelta(DRAW.integers(0, 365, ROWS), "D")
AT = DRAW.integers(0, 24 * 60, ROWS)
TABLE = pd.DataFrame(
    {
        "id": [f"{i:05}" for i in range(ROWS)],
        "at": [f"{m // 60}:{m % 60:02}" for m in AT],
        "island": DRAW.choice(["Biscoe", "Île", "Dream"], ROWS),
        "share": [f"{n}%" for n in DRAW.integers(0, 100, ROWS)],
    }
)
HEAVY = MASS + (AT > 720) * 900 + DRAW.normal(0, 200, ROWS)


def european(path: Path) -> None:
    table = TABLE.assign(
        mass=[f"{n / 1000:.2f}".replace(".", ",") for n in MASS],
        day=DAYS.strftime("%d.%m.%Y"),
        good=np.where(HEAVY > 4_900, "gut", "schlecht"),
    )
    table.to_csv(path, sep=";", index=False, encoding="cp1252")


def lines(path: Path) -> None:
    table = TABLE.assign(mass=MASS, day=DAYS.strftime("%d %b %Y"), good=HEAVY > 4_900)
    table.to_json(path, orient="records", lines=True)


FILES: dict[str, tuple[str, Callable[[Path], None], Any]] = {
    "two classes": ("mine.csv", european, ["gut", "schlecht"]),
    "truth values": ("mine.jsonl", lines, None),
}
COMMANDS = """
import sys
from pipeline.cli.main import main
for arguments in {commands!r}:
    sys.argv = ["pipeline", *arguments]
    main()
"""


def run(folder: Path, *commands: list[str]) -> str:
    """Run commands one after the other where a task can be made."""
    (folder / "tasks").mkdir()
    (folder / "tasks" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS.format(commands=commands)],
        cwd=folder, env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("case", FILES)
def test_the_file_of_a_task_is_predicted_as_it_came(case: str, tmp_path: Path) -> None:
    name, write, classes = FILES[case]
    write(tmp_path / name)
    model, out = "runs/mine/boosting.model", ["numbered.csv", "named.parquet"]
    run(
        tmp_path,
        ["new-task", name, "good"],
        ["run", "mine", "--device", "cpu"],
        ["predict", model, name, out[0], "--device", "cpu"],
        ["predict", model, name, out[1], "--device", "cpu", "--copy-columns", "id"],
    )
    made = pd.read_csv(tmp_path / out[0], float_precision="round_trip")
    named = pd.read_parquet(tmp_path / out[1])
    assert made["row"].tolist() == list(range(ROWS))
    assert named["id"].tolist() == TABLE["id"].tolist()
    chances = [f"probability_{each}" for each in classes or ()]
    chances += ["probability"] if case == "truth values" else []
    assert list(made) == ["row", "prediction", *chances]
    judged = pd.read_parquet(tmp_path / "runs/mine/boosting.predictions.parquet")
    same = made.loc[judged["row"]]
    for column in sorted({*made} & {*judged} - {"row"}):
        if made[column].dtype.kind == "f":
            np.testing.assert_allclose(same[column], judged[column], rtol=1e-6)
        else:
            assert same[column].tolist() == judged[column].tolist()
    assert {*map(str, made["prediction"])} <= {*(classes or map(str, made["prediction"]))}
