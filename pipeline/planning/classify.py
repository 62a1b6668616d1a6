"""What each step of a pipeline is, what runs it on a device, or why nothing does.

This is the only walk of a pipeline: lowering, explanations, forecasts, the choice of a device and
the inputs share what it finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Any, Literal

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from pipeline.backends import cuda, label_encoder
from pipeline.backends.base import Backend, Placement
from pipeline.backends.cpu import HOST, is_xgboost
from pipeline.backends.cuml import text
from pipeline.backends.text_input import reads_text
from pipeline.backends.xgboost.estimator import find_bad_params
from pipeline.errors import ConfigError, Reason, Unsupported
from pipeline.preprocessing.engine import build
from pipeline.typing import Estimator

DEVICES = ("cpu", "cuda")
BLOCKS = {"cpu": "pipeline.preprocessing (NumPy)", "cuda": "pipeline.preprocessing (CuPy)"}

Rows = Literal["dense", "sparse", "unknown"]
"""What a step is given by the one before it; text vectorizers make sparse rows."""


Leaves = Sequence[tuple[str, Any]]


class Kind(Enum):
    """What a step is, on every device."""

    PREPROCESSING = "a transformer of a table, which runs on blocks of rows"
    LABELS = "an encoder of labels, which live on the host"
    TEXT = "a text vectorizer"
    XGBOOST = "an estimator of XGBoost"
    MODEL = "any other estimator; PCA and FastICA too"


@dataclass(frozen=True)
class Node:
    """One step of a pipeline on a device.

    Parameters
    ----------
    path : str
        Its name in the pipeline.
    estimator : estimator
    kind : Kind
    rule : Backend or None
        What runs it; None of preprocessing, and where nothing does.
    reasons : tuple of Reason
        Why it cannot run on the device; empty where it can.
    placements : tuple of Placement
        Where it and the steps inside it run; empty where it cannot.
    leaves : sequence of (str, transformer)
        The transformers inside it with their paths, or itself.
    """

    path: str
    estimator: Estimator
    kind: Kind
    rule: Backend | None = None
    reasons: tuple[Reason, ...] = ()
    placements: tuple[Placement, ...] = ()
    leaves: Leaves = ()

    @property
    def runs_on_blocks(self) -> bool:
        """Whether it is preprocessing of ours."""
        return self.kind is Kind.PREPROCESSING and not self.reasons

    @property
    def reads_text(self) -> bool:
        """Whether it takes documents rather than a table."""
        return reads_text(self.estimator)


def classify(estimator: BaseEstimator, device: str) -> tuple[Node, ...]:
    """Return the steps of an estimator, in order.

    Parameters
    ----------
    estimator : estimator
    device : {"cpu", "cuda"}

    Raises
    ------
    ConfigError
        A parameter of the estimator is invalid; see `validate`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> nodes = classify(make_pipeline(StandardScaler(), Ridge()), "cuda")
    >>> [(node.path, node.placements[0].implementation) for node in nodes]
    [('standardscaler', 'pipeline.preprocessing (CuPy)'), ('ridge', 'cuml.linear_model.Ridge')]
    """
    return tuple(_classify_steps(estimator, device))


def _classify_steps(estimator: BaseEstimator, device: str) -> Iterator[Node]:
    rows: Rows = "dense"
    for path, part, leaves in validate(estimator):
        node = replace(_classify(part, path, device, rows, leaves), leaves=leaves)
        yield node
        rows = _rows_made(node, rows)


def named_steps(estimator: BaseEstimator) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline, or the estimator itself, with their names."""
    if type(estimator) is not Pipeline:
        return [(type(estimator).__name__.lower(), estimator)]
    return [
        (name, part)
        for name, part in estimator.steps
        if part is not None and not (isinstance(part, str) and part == "passthrough")
    ]


def kind_of_step(part: Any) -> Kind:
    """Return what a step is; subclasses are other algorithms than what they inherit from."""
    if label_encoder.is_label_encoder(part):
        return Kind.LABELS
    if text.is_vectorizer(part):
        return Kind.TEXT
    if is_xgboost(part):
        return Kind.XGBOOST
    return Kind.PREPROCESSING if _only_transforms(part) and not cuda.knows(part) else Kind.MODEL


def _only_transforms(part: Any) -> bool:
    return hasattr(part, "transform") and not hasattr(part, "predict")


def classify_step(part: Any, path: str, device: str, rows: Rows = "dense") -> Node:
    """Return one step, which is given such rows."""
    return _classify(part, path, device, rows, build.leaves(part, path))


def _classify(part: Any, path: str, device: str, rows: Rows, leaves: Leaves) -> Node:
    kind = kind_of_step(part)
    if kind is Kind.PREPROCESSING:
        return _classify_preprocessing(part, path, device, rows, leaves)
    rule = _find_backend(part, kind, device)
    if rule is None:
        return Node(path, part, kind, reasons=(cuda.no_twin(part, path),))
    try:
        place = rule.describe(part, path)
    except Unsupported as error:
        return Node(path, part, kind, rule, error.reasons)
    if rows == "sparse" and not rule.sparse:
        return Node(path, part, kind, rule, (cuda.needs_dense(part, path),))
    return Node(path, part, kind, rule, placements=(place,))


def _find_backend(part: Any, kind: Kind, device: str) -> Backend | None:
    if kind is Kind.LABELS:
        return label_encoder.LABEL_BACKEND
    return HOST if device == "cpu" else cuda.find_backend(part)


def _classify_preprocessing(part: Any, path: str, device: str, rows: Rows, leaves: Leaves) -> Node:
    if reasons := _reasons_against_blocks(part, path, leaves, rows):
        return Node(path, part, Kind.PREPROCESSING, reasons=tuple(reasons))
    kept = (inner for inner, leaf in leaves if not (isinstance(leaf, str) and leaf == "drop"))
    places = tuple(Placement(inner, BLOCKS[device], device) for inner in kept)
    return Node(path, part, Kind.PREPROCESSING, placements=places)


def _reasons_against_blocks(part: Any, path: str, leaves: Leaves, rows: Rows) -> list[Reason]:
    if rows != "dense":
        suggestion = "leave it out, or run it with scikit-learn: device='auto'"
        why = "it follows text, whose rows are sparse, and blocks are dense"
        return [Reason(path, why, suggestion)]
    texts = {inner: leaf for inner, leaf in leaves if text.is_vectorizer(leaf)}
    return [
        text.inside(texts[reason.step], reason.step) if reason.step in texts else reason
        for reason in build.reasons(part, path)
    ]


def _rows_made(node: Node, rows: Rows) -> Rows:
    """Return what a step hands to the next one."""
    if node.kind is Kind.TEXT:
        return "sparse"
    if not node.reasons or _makes_dense(node):
        return "dense"
    texts = any(text.is_vectorizer(leaf) for _, leaf in node.leaves)
    return "unknown" if texts or rows != "dense" else "dense"


def _makes_dense(node: Node) -> bool:
    projects = type(node.estimator).__name__.endswith("Projection")
    return cuda.knows(node.estimator) and not projects


def validate(estimator: BaseEstimator) -> list[tuple[str, Any, Leaves]]:
    """Let scikit-learn and XGBoost judge the parameters before any data is read.

    Returns
    -------
    list of (str, estimator, list of (str, transformer))
        The steps with their names, and the transformers inside them with their paths.

    Raises
    ------
    ConfigError
        A value is out of range, or XGBoost does not know a keyword.
    """
    try:
        if type(estimator) is Pipeline:
            build.check_names(estimator, estimator.steps, "pipeline")
        steps = named_steps(estimator)
        inside: list[tuple[str, Any, Leaves]] = [
            (name, part, build.leaves(part, name)) for name, part in steps
        ]
    except TypeError as error:
        raise ConfigError(f"the steps are not lists of names and estimators: {error}") from error
    if not steps:
        raise ConfigError("the pipeline has no step left: all are 'passthrough'")
    for name, part, leaves in inside:
        if not isinstance(part, BaseEstimator):
            raise ConfigError(f"{name}: {part!r} is not a scikit-learn estimator")
        for path, leaf in leaves:
            _validate_parameters(leaf, path)
    _validate_rows(steps)
    return inside


def _validate_parameters(leaf: Estimator, path: str) -> None:
    if hasattr(leaf, "_parameter_constraints"):
        try:
            clone(leaf)._validate_params()
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from error
    if is_xgboost(leaf) and (reasons := find_bad_params(leaf, path)):
        raise Unsupported(*reasons)


def _validate_rows(steps: Sequence[tuple[str, Any]]) -> None:
    """Refuse what scikit-learn would refuse only after it has read all texts."""
    for (before, maker), (name, taker) in pairwise(steps):
        known = type(taker).__module__.startswith("sklearn.") and not reads_text(taker)
        if text.is_vectorizer(maker) and known and not get_tags(taker).input_tags.sparse:
            why = f"{type(taker).__name__} takes no sparse rows, which {before} makes"
            suggestion = "put a TruncatedSVD before it, or use one that does, as LogisticRegression"
            raise Unsupported(Reason(name, why, suggestion))
