"""
Save a model, and predict elsewhere
===================================

A saved model is a folder without pickles. It loads on any device, and predicts files of raw rows.
"""

# %%
# A model
# -------
# The rows are generated: flats with numbers, text and missing values. ``profile=True`` also stores
# the ranges and texts of the columns.
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBRegressor

import pipeline

rng = np.random.default_rng(0)
n = 4_000
X = pd.DataFrame(
    {
        "area": rng.gamma(4, 20, n).round(),
        "year": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1900, 2026, n)),
        "town": rng.choice(["Bath", "Ely", "York"], n),
    }
)
y = 12 * X["area"] + 200 * (X["town"] == "Bath") + rng.normal(0, 50, n)
numbers = make_pipeline(SimpleImputer(), StandardScaler())
towns = OneHotEncoder(handle_unknown="ignore")
columns = make_column_transformer((numbers, ["area", "year"]), (towns, ["town"]))
steps = make_pipeline(columns, XGBRegressor(n_estimators=60, max_depth=4, n_jobs=2))
model = pipeline.Accelerated(steps, device="cpu", profile=True).fit(X, y)

# %%
# Save and load
# -------------
folder = TemporaryDirectory()
home = Path(folder.name)
saved = pipeline.save(model, home / "rent.model")
print(*sorted(file.name for file in saved.iterdir()), sep="\n")
loaded = pipeline.load(saved, device="cpu")
np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

# %%
# Predict a file
# --------------
# New rows arrive as CSV. Three of them are from a town that the training rows lack; the record
# of the predictions counts them.
new = X.head(200).assign(flat=[f"F{i:03}" for i in range(200)])
new.loc[:2, "town"] = "Oslo"
new.to_csv(home / "new.csv", index=False)
record = pipeline.predict_file(saved, home / "new.csv", home / "rents.csv", copy_columns=["flat"])
print({column.name: (column.unseen, column.examples) for column in record.columns})
assert record.columns[2].unseen == 3
predicted = pd.read_csv(home / "rents.csv")
np.testing.assert_allclose(predicted["prediction"], model.predict(new), rtol=1e-6)
predicted.head()

# %%
# The command does the same, on another machine too:
words = ["predict", "rent.model", "new.csv", "again.csv", "--copy-columns", "flat"]
subprocess.run([sys.executable, "-m", "pipeline", *words], cwd=home, check=True)
pd.testing.assert_frame_equal(pd.read_csv(home / "again.csv"), predicted)

# %%
# Without this package
# --------------------
# ``to_sklearn`` returns scikit-learn's pipeline, which any tool for scikit-learn can store.
np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))
folder.cleanup()
