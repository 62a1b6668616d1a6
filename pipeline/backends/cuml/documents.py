"""Pipelines of text vectorizers on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, Pipeline

from pipeline.backends.base import Backend, Model, Placement
from pipeline.backends.cuml.text import ON_CPU
from pipeline.backends.text_input import reads_text
from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator, Table, Target

Find = Callable[[Estimator], Backend | None]


def is_container(estimator: Estimator) -> bool:
    """Return whether it is a pipeline or a union that turns documents into rows.

    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_union
    >>> is_container(make_union(TfidfVectorizer())), is_container(TfidfVectorizer())
    (True, False)
    """
    whole = type(estimator) in (Pipeline, FeatureUnion) and hasattr(estimator, "transform")
    return whole and not hasattr(estimator, "predict") and reads_text(estimator)


class DocumentsBackend(Backend):
    """Runs pipelines of vectorizers by what runs their steps.

    Parameters
    ----------
    find : callable
        Returns what runs a part on the GPU, or None.
    """

    def __init__(self, find: Find) -> None:
        self._find = find

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs the parts, in order, and how they differ."""
        if type(estimator) is FeatureUnion:
            why = "a FeatureUnion of text vectorizers runs on the CPU only"
            instead = f"put each of them in a ColumnTransformer, {ON_CPU}"
            raise Unsupported(Reason(step, why, instead))
        found: list[Placement] = []
        against: list[Reason] = []
        for _, path, part in _held(estimator, step):
            try:
                found.append(self._rule(path, part).describe(part, path))
            except Unsupported as refused:
                against += refused.reasons
        if against:
            raise Unsupported(*against)
        runs = " + ".join(place.implementation for place in found)
        remarks = dict.fromkeys(filter(None, (place.remarks for place in found)))
        return Placement(step, runs, "cuda", "; ".join(remarks))

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the models of the parts."""
        self.describe(estimator, step)
        models = {
            name: self._rule(path, part).place(part, path, dtype)
            for name, path, part in _held(estimator, step)
        }
        return DocumentsModel(estimator, models)

    def _rule(self, path: str, part: Any) -> Backend:
        rule = self._find(part)
        if rule is None:
            kind = part if isinstance(part, str) else type(part).__name__
            why = f"{kind} is not supported on the GPU after a text vectorizer"
            raise Unsupported(Reason(path, why, f"leave it out, {ON_CPU}"))
        return rule


def _held(estimator: Estimator, step: str) -> list[tuple[str, str, Any]]:
    """Return names, paths and steps of a pipeline; none of those that do nothing."""
    held = [(name, how) for name, how in estimator.steps if how not in (None, "passthrough")]
    return [(name, f"{step}.{name}", how) for name, how in held]


class DocumentsModel(Model):
    """The models of a pipeline's steps, one after the other.

    Parameters
    ----------
    estimator : Pipeline
    models : mapping of str to Model
        By the names of the steps.
    """

    def __init__(self, estimator: Estimator, models: Mapping[str, Model]) -> None:
        super().__init__(estimator)
        self.models = models

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Learn from a cuDF series of text."""
        self.fit_transform(X, y)

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Learn, and return the rows of the training texts, on the device."""
        for model in self.models.values():
            X = model.fit_transform(X, y)
        return X

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return the result of the last step for texts."""
        for model in self.models.values():
            X = model.call("transform", X)
        return X

    def to_sklearn(self) -> Any:
        """Return the pipeline of the fitted steps."""
        fitted = {name: model.to_sklearn() for name, model in self.models.items()}
        steps = [(name, fitted.get(name, how)) for name, how in self.estimator.steps]
        return clone(self.estimator).set_params(steps=steps)

    def resume(self, fitted: Estimator) -> None:
        """Take a fitted pipeline over to the device."""
        parts = dict(fitted.steps)
        for name, model in self.models.items():
            model.resume(parts[name])  # type: ignore[attr-defined]
