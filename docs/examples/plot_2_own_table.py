"""
A task from your own table
==========================

``new_task`` reads a table, decides how to use each column, and writes a Python file with plain
scikit-learn and XGBoost pipelines. You can edit this file; ``report``, ``run`` and ``tune`` use it.
"""

# %%
# A CSV file
# ----------
# The rows are generated: parcels with dates, text and missing numbers. Tasks are in the folder
# ``tasks`` of the working directory: start Python in the folder of your project, and you need no
# ``chdir``. This example works in a temporary folder.
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import pipeline
from pipeline.task import task

folder = TemporaryDirectory()
home = Path(folder.name)
rng = np.random.default_rng(0)
n = 3_000
frame = pd.DataFrame(
    {
        "parcel": [f"P{i:06}" for i in range(n)],
        "sent": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        "km": rng.gamma(2, 150, n).round(1),
        "weight": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(2, 3, n).round(2)),
        "carrier": rng.choice(["Ant", "Bee", "Crow"], n),
    }
)
late = frame["km"] / 300 + 2 * (frame["carrier"] == "Crow") + rng.normal(size=n) > 2
frame["arrival"] = np.where(late, "late", "in time")
frame.to_csv(home / "parcels.csv", index=False)
print(*(home / "parcels.csv").read_text().splitlines()[:4], sep="\n")

# %%
# The task
# --------
# The lines show how each column is used. With ``split="time"``, the test rows are the latest ones.
with chdir(home):
    new = pipeline.new_task("parcels.csv", target="arrival", split="time", by="sent")
print(*new.lines(), sep="\n")

# %%
# The file, which you can edit, ends with the task:
print((home / f"tasks/{new.name}.py").read_text().partition("\n\n\nTASK = ")[2])

# %%
# Compare one of its pipelines with scikit-learn
# ----------------------------------------------
# ``report`` measures each in its own process and writes a page. So few rows say nothing on speed.
with chdir(home):
    results = pipeline.report(new, device="cpu", repeats=3, pipelines="linear")
assert {run.variant for run in results.cells} == {"reference", "cpu"}

# %%
# Fit it in a script
# ------------------
# In the prepared table, ``fold`` 3 marks the test rows.
with chdir(home):
    parcels = task.load(new.name)
    table = pd.read_parquet(parcels.data(Path("data")))
train, test = table[table["fold"] < 3], table[table["fold"] == 3]
assert train["sent"].max() < test["sent"].min()
model = pipeline.Accelerated(parcels.pipeline("linear", seed=0), device="cpu")
model.fit(train[parcels.columns], train[parcels.target])
score = model.score(test[parcels.columns], test[parcels.target])
print(f"accuracy {score:.3f}")
assert score > test[parcels.target].value_counts(normalize=True).max()
folder.cleanup()
