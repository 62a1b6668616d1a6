"""
A report from a script
======================

``report`` compares the pipelines of a task with plain scikit-learn and writes a page. A script or
a notebook gets the numbers of the report as well.
"""

# %%
# A task from a frame
# -------------------
# The wines that come with scikit-learn. Start Python in the folder of your project, and you need no
# ``chdir``. This example works in a temporary folder.
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine

import pipeline

folder = TemporaryDirectory()
home = Path(folder.name)
wine = load_wine(as_frame=True)
frame = wine.data.assign(grape=wine.target_names[wine.target])
with chdir(home):
    new = pipeline.new_task(frame, target="grape", name="wine")

# %%
# The comparison
# --------------
# Each pipeline runs in plain scikit-learn (``reference``) and with ``Accelerated`` (``cpu``, and
# ``cuda`` on a machine with a GPU), each in its own process. Three runs are the minimum; a verdict
# on speed needs five, and more rows. A notebook shows ``report`` with a link to its page.
with chdir(home):
    report = pipeline.report(new, device="cpu", repeats=3)

# %%
# The numbers
# -----------
# Each entry of ``cells`` is one pipeline in one variant, with the seconds of each run and its
# metrics.
runs = {f"{run.pipeline}, {run.variant}": run for run in report.cells}
table = pd.DataFrame({name: run.metrics for name, run in runs.items()}).T
for name in ("linear", "boosting"):
    difference = table.loc[f"{name}, cpu"] - table.loc[f"{name}, reference"]
    assert difference.abs().max() <= 0.05
table.round(3)

# %%
# The median seconds of each stage:
medians = {
    name: pd.DataFrame([each.stages for each in run.runs]).median() for name, run in runs.items()
}
stages = pd.DataFrame(medians).T
ax = stages[::-1].plot.barh(stacked=True, figsize=(6, 3))
ax.set_xlabel("seconds, on a machine that also builds this page")
ax.figure.tight_layout()
plt.show()

# %%
# The files
# ---------
# ``index.html`` is the page. ``results.json`` has all that was measured and ``runs.csv`` a line for
# each run.
files = sorted(file.name for file in (home / report.page).parent.iterdir() if file.is_file())
assert {"index.html", "report.md", "results.json", "runs.csv"} <= {*files}
print(files)

folder.cleanup()
