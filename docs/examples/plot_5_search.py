"""
Searches that share fitted steps
================================

The candidates of a search often differ in the last step only. With ``shared(X)``, fits on the same
rows share the steps before it, and the scores do not change.
"""

# %%
# A text column and a grid
# ------------------------
# The rows are generated: short messages and the hour they were sent. ``TfidfVectorizer`` is the
# slow step, and the grid varies only the last one.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from optuna.distributions import FloatDistribution
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, Search, shared

rng = np.random.default_rng(0)
words = np.array([f"word{i}" for i in range(1_000)])
n = 1_500
picks = rng.zipf(1.3, (n, 40)) % len(words)
X = pd.DataFrame({"text": [" ".join(words[row]) for row in picks], "hour": rng.integers(0, 24, n)})
y = ((picks == 7).sum(axis=1) + X["hour"] / 12 + rng.normal(size=n) > 2).astype(int)
columns = make_column_transformer(
    (TfidfVectorizer(ngram_range=(1, 2)), "text"), (StandardScaler(), ["hour"])
)
model = Accelerated(make_pipeline(columns, LogisticRegression(max_iter=1_000)), device="cpu")
values = [0.01, 0.1, 1, 10, 100]
grid = {"estimator__logisticregression__C": values}

# %%
# With and without ``shared``
# ---------------------------
# The search is scikit-learn's own.
start = perf_counter()
alone = GridSearchCV(model, grid, cv=3).fit(X, y)
middle = perf_counter()
together = GridSearchCV(model, grid, cv=3).fit(shared(X), y)
end = perf_counter()
print(f"without shared: {middle - start:.1f} s, with shared: {end - middle:.1f} s")

# %%
# The scores are the same.
np.testing.assert_array_equal(
    alone.cv_results_["mean_test_score"], together.cv_results_["mean_test_score"]
)
pd.DataFrame(together.cv_results_)[["params", "mean_test_score", "std_test_score"]]

# %%
# Candidates drawn by Optuna
# --------------------------
# ``Search`` works like ``GridSearchCV``, draws its candidates from distributions, shares fitted
# steps, and stops candidates between folds when they are unlikely to become the best.
space = {"estimator__logisticregression__C": FloatDistribution(1e-3, 1e3, log=True)}
search = Search(model, space, trials=12, cv=3, random_state=0).fit(X, y)
print(search.best_params_, f"{search.best_score_:.3f}")
assert search.best_score_ >= alone.best_score_ - 0.01
trials = pd.DataFrame(search.cv_results_)
trials["state"].value_counts()

# %%
C = trials["param_estimator__logisticregression__C"].astype(float)
complete = trials["state"] == "complete"
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.scatter(C[complete], trials["mean_test_score"][complete], label="Search: complete trials")
ax.plot(values, together.cv_results_["mean_test_score"], "x-", color="tab:orange", label="grid")
ax.set(xscale="log", xlabel="C", ylabel="mean accuracy over 3 folds")
ax.legend()
plt.show()
