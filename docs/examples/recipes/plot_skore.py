"""
skore: a report on a fitted model
=================================

skore evaluates scikit-learn estimators. ``to_sklearn`` returns one, so all of skore's reports work
with a model that ``Accelerated`` fitted. skore needs Python 3.11.4 or newer; where it is not
installed, this page shows the code without results.
"""

# %%
# A fitted model
# --------------
# Breast tumours, which come with scikit-learn, with one column as text.
import matplotlib.pyplot as plt
import numpy as np
import skore
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X["mean area"] = np.array(["small", "medium", "large"])[np.digitize(X["mean area"], [450, 750])]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
numbers = make_column_selector(dtype_include="number")
columns = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), ["mean area"]))
model = Accelerated(make_pipeline(columns, LogisticRegression(C=0.1)), device="cpu")
model.fit(X_train, y_train)

# %%
# The report
# ----------
# ``splitter="prefit"`` keeps the fitted model; the rows are the held-out ones.
report = skore.evaluate(model.to_sklearn(), X_test, y_test, splitter="prefit", pos_label=1)
metrics = report.metrics.summarize().frame()
metrics

# %%
# Its numbers are those of scikit-learn's metrics for the predictions of ``Accelerated``.
np.testing.assert_allclose(report.metrics.accuracy(), model.score(X_test, y_test))
probability = model.predict_proba(X_test)[:, 1]
np.testing.assert_allclose(report.metrics.roc_auc(), roc_auc_score(y_test, probability))

# %%
# A figure
# --------
report.metrics.roc().plot()
plt.show()
