"""The models that are kept as files: ``python -m tests.serving.written NAME``.

A set is written once, by the version whose files it shows, and never again: later versions
have to read it. A new minor version, and a change of what a file holds, bring a new set.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OrdinalEncoder,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.serving.save import save
from pipeline.twins.calendar import CalendarFeatures
from tests import programs

FIXTURES = Path(__file__).parent / "fixtures"
TEXTS = ["red apple", "green pear", "red cherry", "green apple"]
COLUMNS = make_column_transformer(
    (make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=9)), ["n1"]),
    (SplineTransformer(4), ["n2"]),
    (OrdinalEncoder(), ["c1", "c2"]),
)
DAYS = pd.DataFrame({"day": pd.date_range("2024-02-01", periods=len(programs.TABLE), freq="7h")})
PIPELINES: dict[str, Any] = {
    "linear": programs.program(),
    "boosting": programs.program(XGBClassifier(n_estimators=2, max_depth=2)),
    "forest": programs.program(RandomForestClassifier(2, max_depth=2, random_state=0)),
    "regression": make_pipeline(COLUMNS, Ridge()),
    "texts": make_pipeline(TfidfVectorizer(), Ridge()),
    "matrix": make_pipeline(StandardScaler(), LogisticRegression()),
    "dates": make_pipeline(CalendarFeatures(["weekday", "hour"]), Ridge()),
}


def rows(name: str) -> Any:
    """Return what a model is asked about."""
    if name == "matrix":
        return programs.TABLE[["n2", "n2"]].to_numpy("float64") + [0.0, 1.0]
    return {"texts": TEXTS, "dates": DAYS}.get(name, programs.TABLE)


def answers(model: Any, name: str) -> list[float]:
    """Return what a model says of the rows."""
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    return [float(value) for value in np.asarray(getattr(model, method)(rows(name))).ravel()]


def main() -> None:
    """Write a set, if it is not there."""
    folder = FIXTURES / sys.argv[1]
    if folder.exists():
        sys.exit(f"{folder}: is there, and files that were written stay as they are")
    said = {}
    for name, estimator in PIPELINES.items():
        y = np.arange(4.0) if name == "texts" else programs.NUMBERS
        model = Accelerated(estimator, device="cpu", profile=True, host_bytes=10**6)
        model.fit(rows(name), y)
        if name == "linear":
            model.certify(rows(name))
        save(model, folder / name)
        said[name] = answers(model, name)
    (folder / "answers.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
