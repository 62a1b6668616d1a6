"""The columns of predictions: which method of a model is called, and how its output is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.errors import ConfigError
from pipeline.model.accelerated import Accelerated
from pipeline.model.fitted import last_of

METHODS = ("predict_proba", "predict", "transform", "decision_function", "score_samples")
MOST_PROBABLE: Final = frozenset(
    {
        "ExtraTreesClassifier",
        "GradientBoostingClassifier",
        "HistGradientBoostingClassifier",
        "LogisticRegression",
        "RandomForestClassifier",
        "XGBClassifier",
        "XGBRFClassifier",
    }
)
"""Whose `predict` is the class of the largest probability, so one call gives both."""
NOUNS: Final = {"predict": "prediction", "predict_proba": "probability"}
"""Method -> what its columns are called, where that differs from its name."""

Ask = Callable[[str], Any]
"""Takes the name of a method, and returns its output for the rows."""


@dataclass(frozen=True)
class Question:
    """Which of `METHODS` of a model is called.

    If it `decides`, the class is written beside its probability.
    """

    model: Accelerated
    method: str
    decides: bool

    @classmethod
    def of(cls, model: Accelerated, method: str | None) -> Question:
        """Return the question for a model, by default the first of `METHODS` that it has."""
        has = [name for name in METHODS if hasattr(model, name)]
        if not has:
            raise ConfigError(
                "the model has results for its training rows only; save one that predicts or "
                "transforms new rows"
            )
        if method is not None and method not in has:
            raise ConfigError(f"the model has no method {method!r}; choose from: {', '.join(has)}")
        return cls(model, method or has[0], method is None and has[0] == "predict_proba")

    @property
    def classes(self) -> list[str] | None:
        """The names of the classes, of a classifier of one target."""
        labels = getattr(self.model, "classes_", None)
        return [str(each) for each in labels] if isinstance(labels, np.ndarray) else None

    def columns(self, ask: Ask) -> dict[str, Any]:
        """Return the columns of the output by name."""
        values = ask(self.method)
        decided = self._decide(values, ask) if self.decides else ()
        return unique([*decided, *self._named(self.method, values)])

    def _decide(self, values: Any, ask: Ask) -> Iterable[tuple[str, Any]]:
        """Yield the class of each row; a tie is decided as the model itself does."""
        known = type(last_of(self.model.estimator)).__name__ in MOST_PROBABLE
        if known and self.classes and np.ndim(values) == 2:
            values = np.asarray(values)
            best = values.argmax(axis=1)
            top = values[np.arange(len(values)), best, None]
            if values.shape[1] == len(self.classes) and ((values == top).sum(axis=1) == 1).all():
                return [("prediction", np.asarray(self.model.classes_)[best])]
        return self._named("predict", ask("predict"))

    def _named(self, method: str, values: Any) -> list[tuple[str, Any]]:
        """Return the columns of what a method says, with their names."""
        what = NOUNS.get(method, method)
        if isinstance(values, list):
            of_targets = zip(self._targets(len(values)), values, self.model.classes_, strict=True)
            named = (_by_class(f"{what}_{name}", *rest) for name, *rest in of_targets)
            return [pair for pairs in named for pair in pairs]
        values = np.asarray(values)
        if values.ndim == 1:
            return [(what, values)]
        if method == "transform":
            return list(zip(self._features(values.shape[1]), values.T, strict=True))
        if method != "predict" and self.classes and len(self.classes) == values.shape[1]:
            return _by_class(what, values, self.model.classes_)
        names = self._targets(values.shape[1])
        return [(f"{what}_{name}", each) for name, each in zip(names, values.T, strict=True)]

    def _features(self, width: int) -> list[str]:
        if hasattr(self.model, "get_feature_names_out"):
            return [str(name) for name in self.model.get_feature_names_out()]
        return [f"transform_{j}" for j in range(width)]

    def _targets(self, width: int) -> list[str]:
        known = self.model.target_names_
        return known if known and len(known) == width else [str(j) for j in range(width)]


def _by_class(what: str, values: Any, labels: Iterable[object]) -> list[tuple[str, Any]]:
    """Return a column for each class, or the probability of 1 alone where they are 0 and 1."""
    if [*labels] == [0, 1] and what.startswith(NOUNS["predict_proba"]):
        return [(what, values[:, 1])]
    return [(f"{what}_{label}", column) for label, column in zip(labels, values.T, strict=True)]


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return columns by name; `ConfigError` says that two have the same one."""
    counts = Counter(name for name, _ in pairs)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ConfigError(
            f"two columns of the predictions would be named {twice[0]!r}; rename the copied "
            "column, the class or the target"
        )
    return {name: pa.array(values) for name, values in pairs}
