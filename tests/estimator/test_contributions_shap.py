"""The contributions of columns are those that the shap package finds, added up over the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor, XGBRFRegressor

from pipeline import Accelerated

shap = pytest.importorskip("shap")

Table = tuple[pd.DataFrame, pd.Series]


def with_words(load: Any) -> Table:
    """Return one of scikit-learn's tables, its first column cut into four words."""
    X, y = load(as_frame=True, return_X_y=True)
    words = pd.qcut(X[X.columns[0]], 4, labels=["low", "fair", "good", "high"])
    return X.assign(**{X.columns[0]: words.astype(str)}), y


TABLES = {
    "values": with_words(load_diabetes),
    "two": with_words(load_breast_cancer),
    "three": with_words(load_iris),
}
TREES = {
    "values": [
        XGBRegressor(n_estimators=30, max_depth=4),
        XGBRFRegressor(n_estimators=20, random_state=0),
        RandomForestRegressor(30, random_state=0),
        ExtraTreesRegressor(20, max_depth=6, random_state=0),
        DecisionTreeRegressor(max_depth=5, random_state=0),
        GradientBoostingRegressor(n_estimators=30, random_state=0),
        HistGradientBoostingRegressor(max_iter=30),
    ],
    "two": [
        XGBClassifier(n_estimators=30, max_depth=4),
        RandomForestClassifier(30, random_state=0),
        GradientBoostingClassifier(n_estimators=30, random_state=0),
        HistGradientBoostingClassifier(max_iter=30),
    ],
    "three": [
        XGBClassifier(n_estimators=30, max_depth=4),
        RandomForestClassifier(30, random_state=0),
        ExtraTreesClassifier(20, max_depth=6, random_state=0),
        DecisionTreeClassifier(max_depth=5, random_state=0),
        HistGradientBoostingClassifier(max_iter=30),
    ],
}
LINEAR = {
    "values": [Ridge(), Lasso()],
    "two": [LogisticRegression(), LinearSVC(random_state=0)],
    "three": [LogisticRegression()],
}


def cases(models: dict[str, list[Any]]) -> list[Any]:
    named = [(table, model) for table in models for model in models[table]]
    return [pytest.param(*each, id=f"{each[0]}-{type(each[1]).__name__}") for each in named]


def prepared(X: pd.DataFrame, model: Any) -> Any:
    word, *numbers = X.columns
    encoder = OneHotEncoder(sparse_output=False)
    return make_pipeline(
        make_column_transformer((StandardScaler(), numbers), (encoder, [word])), clone(model)
    )


def of_columns(plain: Any, X: pd.DataFrame, values: np.ndarray) -> np.ndarray:
    """Add up what shap finds for the columns of the matrix, each under the column it is made of."""
    made = [name.partition("__")[2] for name in plain[:-1].get_feature_names_out()]
    return np.stack(
        [
            values[:, [name == column or name.startswith(f"{column}_") for name in made]].sum(1)
            for column in X.columns
        ],
        axis=1,
    )


def check(model: Any, X: pd.DataFrame, theirs: Any, *, exact: float) -> None:
    """Hold the contributions of a model to what shap says of the same model on its matrix."""
    found, values = model.contributions(X), of_columns(model, X, theirs.values)
    base = theirs.base_values
    if values.ndim > found.values.ndim:  # two classes, which shap explains both
        values, base = values[..., 1], base[..., 1]
    np.testing.assert_allclose(found.values, values, rtol=0, atol=exact * np.abs(values).max())
    base = np.broadcast_to(base, found.base_values.shape)
    np.testing.assert_allclose(found.base_values, base, rtol=0, atol=exact * np.abs(values).max())


def fitted(table: str, model: Any) -> tuple[Any, pd.DataFrame, np.ndarray]:
    X, y = TABLES[table]
    made = Accelerated(prepared(X, model), device="cpu").fit(X, y)
    return made, X, made[:-1].transform(X)


@pytest.mark.quick(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("table", "model"), cases(TREES))
def test_trees_as_shap_explains_them(table: str, model: Any) -> None:
    made, X, matrix = fitted(table, model)
    explain = shap.TreeExplainer(made[-1], feature_perturbation="tree_path_dependent")
    # XGBoost's trees add up in float32.
    check(made, X, explain(matrix, check_additivity=False), exact=2e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("table", "model"), cases(LINEAR))
def test_linear_models_as_shap_explains_them(table: str, model: Any) -> None:
    made, X, matrix = fitted(table, model)
    rows = shap.maskers.Independent(matrix, max_samples=len(matrix))
    check(made, X, shap.LinearExplainer(made[-1], rows)(matrix), exact=1e-12)
