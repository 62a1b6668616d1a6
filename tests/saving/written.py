"""The models of each format that are kept as files: ``python -m tests.saving.written``.

They are written once for a format, by the version that brought it, and never again:
later versions have to read them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, QuantileTransformer, SplineTransformer
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.saving import manifest, save
from tests import programs

FIXTURES = Path(__file__).parent / "fixtures"
TEXTS = ["red apple", "green pear", "red cherry", "green apple"]
COLUMNS = make_column_transformer(
    (make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=9)), ["n1"]),
    (SplineTransformer(4), ["n2"]),
    (OrdinalEncoder(), ["c1", "c2"]),
)
SPECS: dict[str, Any] = {
    "linear": programs.program(),
    "boosting": programs.program(XGBClassifier(n_estimators=2, max_depth=2)),
    "forest": programs.program(RandomForestClassifier(2, max_depth=2, random_state=0)),
    "regression": make_pipeline(COLUMNS, Ridge()),
    "texts": make_pipeline(TfidfVectorizer(), Ridge()),
}


def rows(name: str) -> Any:
    """Return what a model is asked about."""
    return TEXTS if name == "texts" else programs.TABLE


def answers(model: Any, name: str) -> list[float]:
    """Return what a model says of the rows."""
    made = getattr(model, "predict_proba" if hasattr(model, "predict_proba") else "predict")
    return [float(value) for value in np.asarray(made(rows(name))).ravel()]


def main() -> None:
    """Write the files of the present format, if there are none."""
    folder = FIXTURES / manifest.FORMAT.replace("/", "-")
    if folder.exists():
        sys.exit(f"{folder}: is there, and files of a format stay as they are")
    told = {}
    for name, spec in SPECS.items():
        y = np.arange(4.0) if name == "texts" else programs.NUMBERS
        model = Accelerated(spec, device="cpu", profile=True).fit(rows(name), y)
        save(model, folder / name)
        told[name] = answers(model, name)
    (folder / "answers.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
