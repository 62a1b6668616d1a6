"""
What each column adds to a prediction
=====================================

``contributions`` splits each prediction into one number for each column of the table, even for
one-hot encoded columns. ``importance`` shows how much a score depends on each column.
"""

# %%
# A model on a mixed table
# ------------------------
# The patients of scikit-learn's diabetes data, with the age group as text.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBRegressor

from pipeline import Accelerated

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["age"] = np.array(["up to 40", "41 to 60", "over 60"])[np.digitize(X["age"], [41, 61])]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
numbers = [name for name in X if name != "age"]
columns = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), ["age"]))
trees = XGBRegressor(n_estimators=60, max_depth=2, learning_rate=0.1, n_jobs=2)
steps = make_pipeline(columns, trees)
model = Accelerated(steps, device="cpu").fit(X_train, y_train)
print(f"R² on held-out rows: {model.score(X_test, y_test):.2f}")

# %%
# Contributions
# -------------
# Each row has a base value and a value for each column. The three codes of ``age`` are added.
parts = model.contributions(X_test)
sums = parts.values.sum(axis=1) + parts.base_values
np.testing.assert_allclose(sums, model.predict(X_test), rtol=1e-4)
parts

# %%
# One row
# -------
row = pd.Series(parts.values[0], index=parts.columns).sort_values(key=abs).tail(8)
labels = [f"{name} = {X_test.iloc[0][name]}" for name in row.index]
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.barh(labels, row, color=np.where(row > 0, "tab:orange", "tab:blue"))
ax.axvline(0, color="gray", linewidth=0.8)
ax.set_xlabel("added to the prediction")
ax.set_title(f"base value {parts.base_values[0]:.0f}, prediction {sums[0]:.0f}")
plt.show()

# %%
# Importance
# ----------
# How much R² drops when the values of one column are permuted, ten times each.
drops = model.importance(X_test, y_test, scoring="r2", repeats=10, random_state=0)
order = np.argsort(drops.importances_mean)
names = drops.feature_names[order]
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.boxplot(drops.importances[order].T, orientation="horizontal", tick_labels=names)
ax.set_xlabel("drop of R²")
plt.show()
assert {"bmi", "s5"} == set(names[-2:])
