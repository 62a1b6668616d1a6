"""The booster inside a saved estimator of scikit-learn, as of a stack: checked, then read."""

from __future__ import annotations

from typing import Any

import xgboost

from pipeline.backends.xgboost.structure import model_of


class Booster(xgboost.Booster):
    """Replaces XGBoost's class in a file of objects, and becomes it when it is read."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read the booster without the settings that are kept beside it."""
        model = model_of(bytes(state["handle"]))
        self.__class__ = xgboost.Booster
        self.__init__(model_file=bytearray(model))  # type: ignore[misc]
