"""
Explain and fallback
====================

``explain`` shows, before any fit, which steps can run on a GPU and why others cannot. It needs
neither a GPU nor data.
"""

# %%
# A step without an equivalent on a GPU
# -------------------------------------
# ``HistGradientBoostingClassifier`` exists in scikit-learn only. The remark names the nearest
# class that runs on a GPU.
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PowerTransformer, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, DeviceUnavailable, Unsupported, explain

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
plain = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=30))
forecast = explain(plain, device="cuda")
assert not forecast.supported
forecast

# %%
# Parameters matter as well: ``PowerTransformer`` runs on a GPU with ``method="yeo-johnson"``, its
# default, but not with ``"box-cox"``.
columns = make_column_transformer(
    (PowerTransformer(method="box-cox"), ["alcohol", "magnesium"]),
    (KBinsDiscretizer(quantile_method="averaged_inverted_cdf"), ["proline"]),
)
box_cox = make_pipeline(columns, XGBClassifier(n_estimators=30, n_jobs=2))
explain(box_cox, device="cuda")

# %%
# ``device="cuda"`` is strict
# ---------------------------
# ``fit`` raises before any data is copied: because of the step, or on a machine without a GPU,
# because of that.
try:
    Accelerated(plain, device="cuda").fit(X_train, y_train)
except (Unsupported, DeviceUnavailable) as error:
    print(f"{type(error).__name__}: {error}")
else:
    raise AssertionError("the step has an equivalent now")

# %%
# ``device="auto"`` falls back to the host
# ----------------------------------------
# With a large table and a GPU, it runs the scaler there and the trees on the host. For a table as
# small as this one, or without a GPU, it runs all steps on the CPU.
model = Accelerated(plain, device="auto").fit(X_train, y_train)
assert model.device_ == "cpu"
print(model.device_why_)
print(f"accuracy on held-out rows: {model.score(X_test, y_test):.3f}")

# %%
# What ran
# --------
# On the CPU, "pipeline (NumPy)" is the code of this package. The other steps are those of
# scikit-learn and XGBoost.
model = Accelerated(box_cox, device="cpu").fit(X_train, y_train)
pd.DataFrame(model.plan_.placements)[["step", "implementation", "note"]]
