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
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated

rng = np.random.default_rng(0)
n = 6_000
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
model = Accelerated(make_pipeline(columns, LogisticRegression()), device="cpu")
model.fit(X[:4_000], y[:4_000])

# %%
# Convert
# -------
# ONNX needs the type of each column. Numbers are float32 there, so the file predicts from rounded
# numbers: compare the predictions on your own rows.
kinds = {"km": FloatTensorType, "weight": FloatTensorType, "carrier": StringTensorType}
types = [(name, kind([None, 1])) for name, kind in kinds.items()]
onnx = to_onnx(model.to_sklearn(), initial_types=types, options={"zipmap": False})
print(f"{len(onnx.SerializeToString()):,} bytes")

# %%
# Predict with onnxruntime
# ------------------------
session = onnxruntime.InferenceSession(
    onnx.SerializeToString(), providers=["CPUExecutionProvider"]
)
held_out = X[4_000:]
given = {name: held_out[[name]].to_numpy() for name in ("km", "weight")}
given["carrier"] = held_out[["carrier"]].to_numpy(dtype=object)
labels, probabilities = session.run(None, given)
assert len(labels) >= 1_000
np.testing.assert_array_equal(labels, model.predict(held_out))
apart = np.abs(probabilities - model.predict_proba(held_out)).max()
print(f"{len(labels):,} rows: the same labels; largest difference of a probability: {apart:.1e}")
assert apart < 1e-5

# %%
# What does not convert
# ---------------------
# With these versions, skl2onnx itself does not convert XGBoost (onnxmltools adds that), functions,
# binning with one-hot codes, dates, and ``SimpleImputer`` on text.
one_hot_bins = KBinsDiscretizer(quantile_method="averaged_inverted_cdf")
for step in (XGBClassifier(n_estimators=5), FunctionTransformer(np.log1p), one_hot_bins):
    steps = make_pipeline(SimpleImputer(), step)
    tried = Accelerated(steps, device="cpu").fit(X[["km"]], y == "late").to_sklearn()
    try:
        to_onnx(tried, initial_types=types[:1])
    except Exception as error:
        print(f"{type(step).__name__}: {str(error).splitlines()[0][:90]}")
    else:
        raise AssertionError(f"{type(step).__name__} converts now: name it no longer")

# %%
# A conversion can also succeed and predict something else, so compare labels each time. Here it is
# the indicator of missing values:
steps = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression())
back = Accelerated(steps, device="cpu").fit(X[["weight"]], y).to_sklearn()
file = to_onnx(back, initial_types=types[1:2], options={"zipmap": False}).SerializeToString()
session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
labels, _ = session.run(None, {"weight": X[["weight"]].to_numpy()})
print(f"same labels in {np.mean(labels == back.predict(X[['weight']])):.0%} of {len(X):,} rows")
