"""
Clusters, and tables larger than memory
=======================================

The same estimator fits a table in partitions, in one process or on several.
"""

# %%
# A table in a Parquet file
# -------------------------
# The rows are generated. Parquet files are split only between row groups.
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
# ``preflight`` estimates this from the metadata of the file. ``read`` then loads the table, or
# returns partitions.
print(pipeline.preflight(file, [*features, "late"]))
X, y = pipeline.read(file, features, "late")
single = pipeline.Accelerated(steps, device="cpu").fit(X, y)

# %%
# Partitions in one process
# -------------------------
# ``scan`` returns a Dask frame and the target. The imputer, the scaler and the encoder compute
# statistics for each partition and merge them. XGBoost gets the prepared rows together if they fit
# in memory, and partition by partition from a temporary folder if they do not.
X, y = pipeline.scan(file, features, "late", partition_bytes=300_000)
parts = pipeline.Accelerated(steps, device="cpu").fit(X, y)
pd.DataFrame(parts.plan_.placements)[["step", "implementation", "note"]]

# %%
# The model equals that of the rows in memory.
np.testing.assert_allclose(parts.predict_proba(X), single.predict_proba(frame[features]), rtol=1e-4)

# %%
# On two workers
# --------------
# Each worker is a process. They train one XGBoost model together; its bins differ a little from
# those of one process, and so do its predictions. A script needs the line with ``__main__``,
# because workers import it; a notebook does not.
if __name__ == "__main__":
    with pipeline.cluster("local", workers=2):
        X, y = pipeline.scan(file, features, "late", partition_bytes=300_000)
        model = pipeline.Accelerated(steps, device="cpu").fit(X, y)
        predicted = model.predict(X)
    one, two = np.mean(single.predict(frame[features]) == y), np.mean(predicted == y)
    print(f"accuracy: {one:.4f} in one process, {two:.4f} on two workers")
    assert abs(one - two) < 0.005
folder.cleanup()
