"""
A first pipeline
================

``Accelerated`` takes an unchanged scikit-learn pipeline, runs it on the CPU or on a GPU, reports
what ran where, and converts the fitted model back to plain scikit-learn.
"""

# %%
# A table with numbers, text and missing values
# ---------------------------------------------
# The rows are generated: parcels that arrive late more often over long distances and with one of
# the carriers. A tenth of the weights are missing.
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, explain

rng = np.random.default_rng(0)
n = 5_000
X = pd.DataFrame(
    {
        "km": rng.gamma(2, 150, n).round(1),
        "weight": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(2, 3, n).round(2)),
        "carrier": rng.choice(["Ant", "Bee", "Crow"], n),
    }
)
y = (X["km"] / 300 + 2 * (X["carrier"] == "Crow") + rng.normal(size=n) > 2).astype(int)
X.head()

# %%
# The pipeline
# ------------
# Nothing in it comes from this package. ``OneHotEncoder`` returns a sparse matrix, as it does by
# default.
numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
columns = make_column_transformer((numbers, ["km", "weight"]), (OneHotEncoder(), ["carrier"]))
plain = make_pipeline(columns, XGBClassifier(n_estimators=50, max_depth=3, n_jobs=2))

# %%
# Where each step would run
# -------------------------
# ``explain`` needs neither data nor a GPU.
explain(plain, device="cuda")

# %%
# Fit and predict
# ---------------
# ``device="auto"``, the default, uses a GPU for large jobs. This page is built on the CPU.
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = Accelerated(plain, device="cpu").fit(X_train, y_train)
print(f"accuracy on {len(X_test):,} held-out rows: {model.score(X_test, y_test):.3f}")

# %%
# The log shows what ran where in the last fit and in the last prediction.
model.execution_log_

# %%
# The same predictions as scikit-learn
# ------------------------------------
# On the CPU, the probabilities equal those of the plain pipeline.
expected = plain.fit(X_train, y_train).predict_proba(X_test)
np.testing.assert_array_equal(model.predict_proba(X_test), expected)

# %%
# ``to_sklearn`` returns a fitted scikit-learn pipeline that no longer needs this package.
back = model.to_sklearn()
np.testing.assert_array_equal(back.predict_proba(X_test), expected)
back
