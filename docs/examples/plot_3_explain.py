"""
Explain and fallback
====================

``explain`` shows, before any fit, which steps can run on a GPU and why others cannot. It needs
neither a GPU nor data.
"""

# %%
# A pipeline with a step that has no equivalent on a GPU
# ------------------------------------------------------
# ``HistGradientBoostingClassifier`` exists in scikit-learn only.
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import KNNImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, QuantileTransformer, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, DeviceUnavailable, Unsupported, explain

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
plain = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=30))
forecast = explain(plain, device="cuda")
forecast

# %%
# ``device="cuda"`` is strict
# ---------------------------
# A fit with ``device="cuda"`` raises before it copies any data: for the step, or because this
# machine has no GPU.
try:
    Accelerated(plain, device="cuda").fit(X_train, y_train)
except (Unsupported, DeviceUnavailable) as error:
    print(f"{type(error).__name__}: {error}")

# %%
# ``device="auto"`` runs the step on the host
# -------------------------------------------
# For small jobs, and on a machine without a GPU, it runs all steps on the CPU.
explain(plain, device="auto")

# %%
# Parameters matter as well
# -------------------------
# ``PowerTransformer`` runs on a GPU with its default ``method="yeo-johnson"`` only.
box_cox = make_pipeline(PowerTransformer(method="box-cox"), XGBClassifier(n_estimators=30))
explain(box_cox, device="cuda")
