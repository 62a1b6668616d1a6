"""What each step of a pipeline is, what runs it on a device, or why nothing does.

This is the only walk of a pipeline: lowering, explanations, forecasts, the choice of a device and
the inputs share what it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Any, Literal

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import get_tags

from pipeline.backends import cuda, meta
from pipeline.backends.base import Backend, Placement
from pipeline.backends.cpu import HOST
from pipeline.backends.cuml import documents, text
from pipeline.backends.text_input import reads_text
from pipeline.backends.xgboost.estimator import find_bad_params
from pipeline.data import frames
from pipeline.errors import ConfigError, Reason, Unsupported, in_words_of
from pipeline.preprocessing.engine import tree, unsupported
from pipeline.typing import Estimator, Table

DEVICES = ("cpu", "cuda")
BLOCKS = {"cpu": "pipeline.preprocessing (NumPy)", "cuda": "pipeline.preprocessing (CuPy)"}

Rows = Literal["dense", "sparse", "either", "unknown"]
"""What a step is given: text vectorizers make sparse rows, and preprocessing
makes either, by how many cells are not zero."""

MADE_DENSE = "sparse rows are made dense where they fit, and refused otherwise"
REFUSED = "sparse rows are refused, as scikit-learn's own refuses them"


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
    runs_on_blocks : bool
        Whether it is preprocessing of ours; what is inside it and has reasons runs on the host.
    inside : tuple of Node
        The steps of the estimators that a meta-estimator fits on the device.
    """

    path: str
    estimator: Estimator
    kind: Kind
    rule: Backend | None = None
    reasons: tuple[Reason, ...] = ()
    placements: tuple[Placement, ...] = ()
    leaves: Leaves = ()
    runs_on_blocks: bool = False
    inside: tuple[Node, ...] = ()

    def noted(self, remark: str) -> Node:
        """Return the node with a remark to where it runs."""
        notes = ("; ".join(filter(None, (place.note, remark))) for place in self.placements)
        places = zip(self.placements, notes, strict=True)
        return replace(self, placements=tuple(replace(place, note=note) for place, note in places))

    @property
    def reads_text(self) -> bool:
        """Whether it takes documents rather than a table."""
        return not self.runs_on_blocks and reads_text(self.estimator)

    @property
    def reads_table(self) -> bool:
        """Whether it takes a table, and neither documents nor labels."""
        return self.kind is not Kind.LABELS and not self.reads_text


def classify(
    estimator: BaseEstimator, device: str, path: str = "", rows: Rows = "dense"
) -> tuple[Node, ...]:
    """Return the steps of an estimator, in order.

    Parameters
    ----------
    estimator : estimator
    device : {"cpu", "cuda"}
    path : str
        Where it stands inside another one.
    rows : {"dense", "sparse", "either", "unknown"}
        What the first step is given.

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
    nodes: list[Node] = []
    steps = validate(estimator, path)
    ours = [
        leaf
        for _, part, leaves in steps
        for leaf in leaves
        if device == "cuda" or kind_of_step(part) is Kind.PREPROCESSING
    ]
    _refuse_callbacks([(path, estimator)] * (type(estimator) is Pipeline) + ours)
    for step, part, leaves in steps:
        node = _classify(part, step, device, rows, leaves)
        if node.rule is not None and rows != "dense":
            node = node.noted(_tell_rows(node.rule, part, rows, nodes))
        nodes.append(node)
        rows = _rows_made(node, rows)
    if getattr(estimator, "memory", None) is not None:
        nodes[0] = nodes[0].noted("memory: fitted steps are not kept for other fits")
    return tuple(nodes)


def rows_of(estimator: BaseEstimator, X: Table) -> Rows:
    """Return what the first step of an estimator is given of a table.

    The rows of a frame are sparse where a column that is read is one of pandas' sparse types.
    """
    if not frames.holds_sparse(X):
        return "dense"
    frame = frames.is_frame(X)
    read = tree.columns_read(named_steps(estimator)[0][1], frames.head(X)) if frame else None
    return "sparse" if frames.holds_sparse(X, read) else "dense"


def takes_sparse(estimator: BaseEstimator) -> bool:
    """Return whether the first step of an estimator may learn from sparse rows on a GPU.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> takes_sparse(Ridge()), takes_sparse(MaxAbsScaler())
    (True, False)
    """
    part = named_steps(estimator)[0][1]
    if meta.holds_estimators(part):
        return all(takes_sparse(each) for each in meta.inner_estimators(part).values())
    return kind_of_step(part) is not Kind.PREPROCESSING and cuda.find_backend(part) is not None


def named_steps(estimator: BaseEstimator, path: str = "") -> list[tuple[str, Any]]:
    """Return the steps of a pipeline, or the estimator itself, with their names."""
    if type(estimator) is not Pipeline:
        return [(path or type(estimator).__name__.lower(), estimator)]
    prefix = f"{path}." if path else ""
    return [
        (f"{prefix}{name}", part)
        for name, part in estimator.steps
        if part is not None and not (isinstance(part, str) and part == "passthrough")
    ]


class _Kinds(dict[type, Kind | None]):
    """What all steps of a class are; subclasses are other algorithms than it."""

    def __missing__(self, kind: type) -> Kind | None:
        boosts = kind.__module__.partition(".")[0] == "xgboost"
        self[kind] = Kind.XGBOOST if boosts else Kind.MODEL if cuda.knows(kind) else None
        return self[kind]


_KINDS = _Kinds({LabelEncoder: Kind.LABELS, **dict.fromkeys(text.CUML, Kind.TEXT)})


def kind_of_step(part: Any) -> Kind:
    """Return what a step is."""
    if known := _KINDS[type(part)] or (Kind.TEXT if documents.is_container(part) else None):
        return known
    only_transforms = hasattr(part, "transform") and not hasattr(part, "predict")
    return Kind.PREPROCESSING if only_transforms else Kind.MODEL


def classify_step(part: Any, path: str, device: str, rows: Rows = "dense") -> Node:
    """Return one step, which is given such rows."""
    return _classify(part, path, device, rows, tree.leaves(part, path))


def _classify(part: Any, path: str, device: str, rows: Rows, leaves: Leaves) -> Node:
    kind, rule = kind_of_step(part), None
    if device == "cuda" and meta.holds_estimators(part):
        return _look_inside(part, path, rows, leaves)
    against: tuple[Reason, ...] = ()
    try:
        if kind is Kind.PREPROCESSING:
            places, against = _place_on_blocks(part, path, device, rows)
        else:
            rule = _find_backend(part, kind, device)
            if rule is None:
                raise Unsupported(cuda.no_twin(part, path))
            places = (rule.describe(part, path),)
    except Unsupported as error:
        return Node(path, part, kind, rule, error.reasons, leaves=leaves)
    blocks = kind is Kind.PREPROCESSING
    return Node(path, part, kind, rule, against, places, leaves, runs_on_blocks=blocks)


def _tell_rows(rule: Backend, part: Any, rows: Rows, before: Sequence[Node]) -> str:
    """Return what there is to say of the sparse rows that a model may be given."""
    inside = [part for node in before for part in tree.walk(node.estimator, node.path)]
    least = [how.sparse_threshold for _, how, _ in inside if type(how) is ColumnTransformer]
    few = f" where fewer than {least[-1]:g} of the cells are not zero" if least else ""
    given = f"is given CSR{few}" if least or (rows == "either" and before) else ""
    if rule.sparse:
        return "; ".join(filter(None, (given, rule.sparse_note)))
    return f"{given}; {MADE_DENSE if get_tags(part).input_tags.sparse else REFUSED}".lstrip("; ")


def _look_inside(part: Any, path: str, rows: Rows, leaves: Leaves) -> Node:
    """Return a meta-estimator with what it fits on the GPU."""
    held = meta.inner_estimators(part)
    if reasons := meta.find_obstacles(part, path):
        return Node(path, part, Kind.MODEL, None, tuple(reasons), leaves=leaves)
    found = [classify(each, "cuda", f"{path}.{name}", rows) for name, each in held.items()]
    inside = tuple(node for nodes in found for node in nodes)
    if reasons := [reason for node in inside for reason in node.reasons]:
        return Node(path, part, Kind.MODEL, None, tuple(reasons), leaves=leaves, inside=inside)
    rule = meta.MetaBackend(
        unsafe_in_float32=any(n[-1].rule and n[-1].rule.unsafe_in_float32 for n in found),
        of_tables=any(nodes[0].runs_on_blocks or nodes[0].reads_text for nodes in found),
    )
    places = (rule.describe(part, path), *(place for node in inside for place in node.placements))
    return Node(path, part, Kind.MODEL, rule, (), places, leaves, inside=inside)


def _find_backend(part: Any, kind: Kind, device: str) -> Backend | None:
    labels = kind is Kind.LABELS  # which live on the host
    return HOST if labels or device == "cpu" else cuda.find_backend(part)


def _place_on_blocks(
    part: Any, path: str, device: str, rows: Rows
) -> tuple[tuple[Placement, ...], tuple[Reason, ...]]:
    """Return where the parts of preprocessing run, and why some cannot run on the device."""
    if rows not in ("dense", "either"):
        suggestion = "leave it out, or use device='auto'; of sparse X, pass X.toarray()"
        what = "are" if rows == "sparse" else "may be"
        why = f"its rows {what} sparse, and blocks are dense"
        raise Unsupported(Reason(path, why, suggestion))
    units = unsupported.units(tree.Inside(path, part, first=True))
    placed = [_place_unit(*unit, device) for unit in units]
    against = [reason for _, reasons in placed for reason in reasons]
    if any(unit is part for (_, unit, _), reasons in units if reasons):
        raise Unsupported(*against)
    dropped = (isinstance(unit.estimator, str) and unit.estimator == "drop" for unit, _ in units)
    kept = tuple(place for (place, _), out in zip(placed, dropped, strict=True) if not out)
    return kept, tuple(against) if device == "cuda" else ()


def _place_unit(
    part: tree.Inside, reasons: Sequence[Reason], device: str
) -> tuple[Placement, Sequence[Reason]]:
    """Return where a part runs, and why it cannot run on the device."""
    if not reasons:
        return Placement(part.path, BLOCKS[device], device), ()
    backend = cuda.find_transformer(part.estimator) if device == "cuda" else None
    try:
        if backend is not None:
            return backend.describe(part.estimator, part.path), ()
    except Unsupported as refused:
        reasons = refused.reasons
    return place_on_host(part.path, part.estimator, reasons, asked=device), reasons


def place_on_host(
    path: str, part: Estimator, reasons: Sequence[Reason], *, asked: str
) -> Placement:
    """Return that a step runs on the host as the user wrote it, and why."""
    why = "; ".join(f"{r.parameter}: {r.why}" if r.parameter else r.why for r in reasons)
    note = f"on the host: {why}" if asked != "cpu" else f"as it is: {why}"
    return replace(HOST.describe(part, path), note=note, reasons=tuple(reasons))


def _is_text(part: Any) -> bool:
    return _KINDS[type(part)] is Kind.TEXT


def _rows_made(node: Node, rows: Rows) -> Rows:
    """Return what a step hands to the next one."""
    if node.kind is Kind.TEXT:
        return "sparse" if tree.makes_sparse(node.estimator) else "dense"
    if meta.holds_estimators(node.estimator):  # a selector hands on what it is given
        return rows
    if node.runs_on_blocks or hasattr(node.estimator, "dense_output"):
        sparse = tree.makes_sparse(node.estimator, given=rows != "dense")
        return (rows if rows != "dense" else "either") if sparse else "dense"
    kind = type(node.estimator)
    makes_dense = cuda.knows(kind) and not kind.__name__.endswith("Projection")
    if makes_dense or (not node.reasons and rows == "dense"):
        return "dense"
    texts = any(_is_text(leaf) for _, leaf in node.leaves)
    return "unknown" if texts or rows != "dense" else "dense"


def validate(estimator: BaseEstimator, path: str = "") -> list[tuple[str, Any, Leaves]]:
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
            tree.check_names(estimator, estimator.steps, "pipeline")
        steps = named_steps(estimator, path)
        inside: list[tuple[str, Any, Leaves]] = [
            (name, part, tree.leaves(part, name)) for name, part in steps
        ]
    except TypeError as error:
        raise ConfigError(f"the steps are not lists of names and estimators: {error}") from error
    if not steps:
        raise ConfigError("the pipeline has no step left: all are 'passthrough'")
    for name, part, leaves in inside:
        for path, leaf in [(name, part), *leaves]:
            if isinstance(leaf, type):
                kind = leaf.__name__
                said = f"Expected an estimator instance ({kind}()), got estimator class instead"
                raise in_words_of(TypeError(f"{said} ({kind})."), ConfigError(f"At {path}"))
        if not hasattr(part, "fit"):
            raise ConfigError(f"{name}: {part!r} is not a scikit-learn estimator")
        if part is not steps[-1][1] and not hasattr(part, "transform"):
            raise ConfigError(f"{name}: {part!r} comes before others and transforms nothing")
        _validate_parameters(leaves)
    _validate_rows(steps)
    return inside


def _refuse_callbacks(parts: Leaves) -> None:
    """Refuse what the loops of scikit-learn's own steps would call, for steps of ours."""
    called = [path for path, part in parts if getattr(part, "_skl_callbacks", None)]
    if called:
        why = "callbacks are called by scikit-learn's own fit alone"
        suggestion = "leave them out, or run it on the CPU"
        raise Unsupported(*(Reason(path, why, suggestion, "set_callbacks") for path in called))


def _validate_parameters(leaves: Leaves) -> None:
    for path, leaf in leaves:
        if hasattr(leaf, "_parameter_constraints"):
            try:
                leaf._validate_params()
            except ValueError as error:
                raise ConfigError(f"{path}: {error}") from error
        if _KINDS[type(leaf)] is Kind.XGBOOST and (reasons := find_bad_params(leaf, path)):
            raise Unsupported(*reasons)


def _validate_rows(steps: Sequence[tuple[str, Any]]) -> None:
    """Refuse what scikit-learn would refuse only after it has read all texts."""
    for (before, maker), (name, taker) in pairwise(steps):
        if not _is_text(maker) or not type(taker).__module__.startswith("sklearn."):
            continue
        if not reads_text(taker) and not get_tags(taker).input_tags.sparse:
            why = f"{type(taker).__name__} takes no sparse rows, which {before} makes"
            suggestion = "put a TruncatedSVD before it, or use one that does, as LogisticRegression"
            raise Unsupported(Reason(name, why, suggestion))
