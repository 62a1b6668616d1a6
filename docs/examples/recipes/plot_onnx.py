"""
ONNX: predict without scikit-learn
==================================

``to_sklearn`` returns a fitted scikit-learn pipeline. skl2onnx converts it to an ONNX file, and
onnxruntime predicts with this file.
"""

# %%
# A fitted pipeline
# -----------------
import numpy as np
import onnxruntime
import pandas as pd
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated

rng, n = np.random.default_rng(0), 6_000
X = pd.DataFrame(
    {
        "km": rng.gamma(2, 150, n).astype("float32"),
        "weight": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(2, 3, n)).astype("float32"),
        "carrier": rng.choice(["Ant", "Bee", "Crow"], n),
    }
)
y = np.where(X["km"] / 300 + 2 * (X["carrier"] == "Crow") + rng.normal(size=n) > 2, "late", "ok")
numbers = make_pipeline(SimpleImputer(), StandardScaler())
columns = make_column_transformer((numbers, ["km", "weight"]), (OneHotEncoder(), ["carrier"]))
steps = make_pipeline(columns, LogisticRegression())
model = Accelerated(steps, device="cpu").fit(X[:4_000], y[:4_000])

# %%
# Convert
# -------
# The types of the columns are those of a sample. Most operators of ONNX compute in float32, so
# compare the predictions on your own rows.
sample = X[:1].astype({"carrier": object})
onnx = to_onnx(model.to_sklearn(), sample, options={"zipmap": False})

# %%
# Predict with onnxruntime
# ------------------------
session = onnxruntime.InferenceSession(onnx.SerializeToString())
rows = X[4_000:]
given = {name: rows[[name]].to_numpy(dtype=sample[name].dtype) for name in X}
labels, probabilities = session.run(None, given)
np.testing.assert_array_equal(labels, model.predict(rows))
np.testing.assert_allclose(probabilities, model.predict_proba(rows), atol=1e-5)
assert len(rows) >= 1_000
print(f"the same labels in {len(rows):,} rows")

# %%
# What does not convert
# ---------------------
# skl2onnx itself converts neither XGBoost (onnxmltools adds that) nor functions, nor dates.
for step in (XGBClassifier(n_estimators=5), FunctionTransformer(np.log1p)):
    steps = make_pipeline(SimpleImputer(), step)
    back = Accelerated(steps, device="cpu").fit(X[["km"]], y == "late").to_sklearn()
    try:
        to_onnx(back, sample[["km"]])
        raise AssertionError(f"{step} converts now")
    except RuntimeError as error:
        print(f"{type(step).__name__}: {str(error).splitlines()[0]}")

# %%
# A conversion can also succeed and predict something else, so compare labels each time. Here it is
# the indicator of missing values:
steps = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression())
back = Accelerated(steps, device="cpu").fit(X[["weight"]], y).to_sklearn()
onnx = to_onnx(back, sample[["weight"]], options={"zipmap": False})
session = onnxruntime.InferenceSession(onnx.SerializeToString())
labels, _ = session.run(None, {"weight": X[["weight"]].to_numpy()})
print(f"same labels in {np.mean(labels == back.predict(X[['weight']])):.0%} of {len(X):,} rows")
