"""
Clusters, and tables larger than memory
=======================================

The same estimator fits a table in partitions, on several processes or on one.
"""

# %%
# A table in a Parquet file
# -------------------------
# The rows are generated; ten row groups become ten partitions.
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

import pipeline

folder = TemporaryDirectory()
file = Path(folder.name) / "parcels.parquet"
rng = np.random.default_rng(0)
n = 100_000
frame = pd.DataFrame(
    {
        "km": rng.gamma(2, 150, n).round(1),
        "weight": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(2, 3, n).round(2)),
        "carrier": rng.choice(["Ant", "Bee", "Crow"], n),
    }
)
frame["late"] = frame["km"] / 300 + 2 * (frame["carrier"] == "Crow") + rng.normal(size=n) > 2
frame.to_parquet(file, row_group_size=n // 10)
features = ["km", "weight", "carrier"]
numbers = make_pipeline(SimpleImputer(), StandardScaler())
columns = make_column_transformer((numbers, ["km", "weight"]), (OneHotEncoder(), ["carrier"]))
steps = make_pipeline(columns, XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1))

# %%
# Does it fit in memory?
# ----------------------
print(pipeline.preflight(file, [*features, "late"]))

# %%
# One process, a partition after another
# --------------------------------------
# ``scan`` reads nothing but the target yet. Each step computes its statistics for each partition
# and merges them.
X, y = pipeline.scan(file, features, "late")
print(type(X), X.npartitions)
model = pipeline.Accelerated(steps, device="cpu").fit(X, y)
model.plan_.placements
