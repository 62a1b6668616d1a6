"""From an estimator, and what is known of its rows, to what runs each step.

`explain` prints the result, a fit runs it, and forecasts and the choice of a device read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from itertools import pairwise
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import get_tags

from pipeline.backends import cuda, meta
from pipeline.backends.base import Backend
from pipeline.backends.cpu import HOST, is_xgboost
from pipeline.backends.cuml import text
from pipeline.backends.gpu_rules import name_of_class
from pipeline.backends.text_input import reads_text
from pipeline.compile.rules import (
    check_names,
    check_parameters,
    columns_read,
    compile_transformer,
    left_out,
    place_on_host,
)
from pipeline.compile.spec import CONTAINERS, Op, RowSpec, Runner, columns_of, spec_of
from pipeline.errors import ConfigError, Reason, Unsupported
from pipeline.table import frames
from pipeline.typing import Estimator, Form, Table

DEVICES = ("cpu", "cuda")
MADE_DENSE = "sparse rows become dense if they fit, and are rejected otherwise"
REFUSED = "sparse rows are rejected, as in scikit-learn"


class Kind(Enum):
    """What a step is, on every device."""

    PREPROCESSING = "a transformer of a table, which runs on blocks of rows"
    LABELS = "an encoder of labels, which live on the host"
    TEXT = "a text vectorizer"
    META = "one of scikit-learn's that fits others"
    MODEL = "any other estimator; PCA and FastICA too"


def compile(estimator: BaseEstimator, spec: RowSpec = RowSpec(), path: str = "") -> Op:  # noqa: A001, B008
    """Return what runs an estimator on a device: each step, or the reasons why nothing does.

    `spec` is the device, and what is known of the rows; `path` that of the estimator inside another
    one. Of a `Pipeline`, the children are its steps. `ConfigError` says that a parameter, a name or
    a column is invalid; `Unsupported` that XGBoost does not know a keyword, or that a step does not
    support sparse rows.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> whole = compile(make_pipeline(StandardScaler(), Ridge()), RowSpec("cuda"))
    >>> [(op.path, op.place.implementation) for op in whole.steps]
    [('standardscaler', 'pipeline (CuPy)'), ('ridge', 'cuml.linear_model.Ridge')]
    """
    if type(estimator) is not Pipeline:
        (step,) = steps = _steps(named_steps(estimator, path), spec)
        _refuse_callbacks(steps)
        return step
    check_names(estimator, path or "pipeline")
    held = named_steps(estimator, path)
    if not held:
        raise ConfigError("the pipeline has no steps except 'passthrough'; add one")
    steps = _steps(held, spec)
    _refuse_sparse(held)
    whole = Op(path, estimator, "container", spec, steps[-1].out, tuple(steps))
    _refuse_callbacks(steps, (path, estimator))
    if estimator.memory is not None:
        first = steps[0].noted("memory= is ignored: fitted steps are not cached")
        whole = replace(whole, children=(first, *steps[1:]))
    return whole


def spec_for(estimator: BaseEstimator, X: Table, device: str) -> RowSpec:
    """Return what is known of the rows of a table, of which an estimator reads some columns.

    The rows of a frame are sparse where a column that is read is one of pandas' sparse types.
    """
    spec = spec_of(X, device)
    if spec.form == "dense" or not frames.is_frame(X):
        return spec
    dense = replace(spec, form="dense", **columns_of(frames.head(X)))
    read = columns_read(compile(estimator, replace(dense, device="cpu")).steps[0])
    return spec if frames.holds_sparse(X, read) else RowSpec(device)


def takes_sparse(estimator: BaseEstimator) -> bool:
    """Return whether the first step of an estimator may learn from sparse rows on a GPU.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> takes_sparse(Ridge()), takes_sparse(MaxAbsScaler())
    (True, False)
    """
    part = named_steps(estimator)[0][1]
    if (kind := kind_of_step(part)) is Kind.META:
        return all(takes_sparse(each) for each in meta.inner_estimators(part).values())
    return kind is not Kind.PREPROCESSING and cuda.find_backend(part) is not None


def named_steps(estimator: BaseEstimator, path: str = "") -> list[tuple[str, Any]]:
    """Return the steps of a pipeline, or the estimator itself, with their names."""
    if type(estimator) is not Pipeline:
        return [(path or type(estimator).__name__.lower(), estimator)]
    prefix = f"{path}." if path else ""
    return [(f"{prefix}{name}", part) for name, part in estimator.steps if not left_out(part)]


class _Kinds(dict[type, Kind | None]):
    """What all steps of a class are; subclasses are other algorithms than it."""

    def __missing__(self, kind: type) -> Kind | None:
        boosts = kind.__module__.partition(".")[0] == "xgboost"
        known = Kind.META if name_of_class(kind) in meta.META else Kind.MODEL
        self[kind] = known if boosts or cuda.knows(kind) else None
        return self[kind]


_KINDS = _Kinds({LabelEncoder: Kind.LABELS, **dict.fromkeys(text.CUML, Kind.TEXT)})


def kind_of_step(part: Any) -> Kind:
    """Return what a step is."""
    if known := _KINDS[type(part)]:
        return known
    if type(part) in (Pipeline, FeatureUnion) and text.is_container(part):
        return Kind.TEXT
    only_transforms = hasattr(part, "transform") and not hasattr(part, "predict")
    return Kind.PREPROCESSING if only_transforms else Kind.MODEL


def reads_table(part: Any) -> bool:
    """Return whether a step takes a table, not documents or labels."""
    return kind_of_step(part) is not Kind.LABELS and not reads_text(part)


def _steps(held: Sequence[tuple[str, Any]], spec: RowSpec) -> list[Op]:
    """Return the steps, each of what the one before makes."""
    ops: list[Op] = []
    for name, part in held:
        if not isinstance(part, type):
            if not hasattr(part, "fit"):
                raise ConfigError(f"{name}: {part!r} is not a scikit-learn estimator; pass one")
            if part is not held[-1][1] and not hasattr(part, "transform"):
                raise ConfigError(f"{name}: {part!r} has no transform; put it last")
        op = compile_step(part, name, spec)
        if op.rule is not None and spec.form != "dense":
            op = op.noted(_tell_rows(op.rule, part, spec.form, ops))
        ops.append(op)
        spec = replace(op.out, made=False)
    return ops


def compile_step(part: Any, path: str, spec: RowSpec) -> Op:
    """Return one step of a pipeline, which is given such rows."""
    if type(part) in (Pipeline, FeatureUnion):  # of which the parts say what it is
        check_names(part, path)
    kind = kind_of_step(part)
    if spec.device == "cuda" and kind is Kind.META:
        return _look_inside(part, path, spec)
    if kind is not Kind.PREPROCESSING:
        op = _model(part, path, spec, kind)
    elif spec.form in ("dense", "either"):
        op = compile_transformer(part, path, spec)
    else:
        check_parameters(part, path)
        what = "are" if spec.form == "sparse" else "may be"
        why = f"its rows {what} sparse, but only dense rows are supported"
        instead = "leave it out, use device='auto', or pass X.toarray() if X is sparse"
        op = _on_host(part, path, spec, [Reason(path, why, instead)])
    form = op.out.form if op.on_blocks else _made(op, kind)
    return op if form == op.out.form else replace(op, out=replace(op.out, form=form))


def _model(part: Any, path: str, spec: RowSpec, kind: Kind) -> Op:
    """Return what learns from a matrix, from texts or from labels."""
    check_parameters(part, path)
    on_host = kind is Kind.LABELS or spec.device == "cpu"
    rule = HOST if on_host else cuda.find_backend(part)
    try:
        if rule is None:
            raise Unsupported(cuda.no_twin(part, path))
        place = rule.describe(part, path)
    except Unsupported as error:
        return replace(_on_host(part, path, spec, error.reasons), rule=rule)
    runner: Runner = "XGBoost" if is_xgboost(part) else rule.runner
    op = Op(path, part, runner, spec, spec.handed_on("dense"), rule=rule, place=place)
    return _with_children(op) if type(part) in CONTAINERS else op


def _on_host(part: Any, path: str, spec: RowSpec, reasons: Sequence[Reason]) -> Op:
    place = place_on_host(path, part, reasons, asked=spec.device)
    out, given = spec.handed_on("dense"), tuple(reasons)
    op = Op(path, part, "scikit-learn", spec, out, reasons=given, place=place)
    return _with_children(op) if type(part) in CONTAINERS else op


def _with_children(op: Op) -> Op:
    """Return a container that runs as one with what it holds."""
    held = compile_transformer(op.estimator, op.path, replace(op.takes, device="cpu"))
    return replace(op, out=op.out.handed_on(held.out.form), children=held.children)


def _look_inside(part: Any, path: str, spec: RowSpec) -> Op:
    """Return a meta-estimator with what it fits on the GPU."""
    check_parameters(part, path)
    held = meta.inner_estimators(part)
    if reasons := meta.find_obstacles(part, path):
        return _on_host(part, path, spec, reasons)
    rows = RowSpec(spec.device, spec.form)
    inside = tuple(compile(each, rows, f"{path}.{name}") for name, each in held.items())
    whole = Op(path, part, "meta", spec, spec.handed_on(spec.form), inside)
    if whole.refused:
        return whole
    rules = [op.steps[-1].rule for op in inside]
    firsts = [op.steps[0] for op in inside]
    rule = meta.MetaBackend(
        unsafe_in_float32=any(rule and rule.unsafe_in_float32 for rule in rules),
        of_tables=any(op.on_blocks or reads_text(op.estimator) for op in firsts),
    )
    return replace(whole, rule=rule, place=rule.describe(part, path))


def _tell_rows(rule: Backend, part: Any, form: Form, before: Sequence[Op]) -> str:
    """Return a note on the sparse rows that a model may be given."""
    least = [
        each.estimator.sparse_threshold
        for op in before
        for each in op.tree
        if type(each.estimator) is ColumnTransformer
    ]
    few = f" if less than {least[-1]:g} of the values are non-zero" if least else ""
    given = f"gets sparse rows{few}" if least or (form == "either" and before) else ""
    if rule.sparse:
        return "; ".join(filter(None, (given, rule.sparse_note)))
    return f"{given}; {MADE_DENSE if get_tags(part).input_tags.sparse else REFUSED}".lstrip("; ")


def _made(op: Op, kind: Kind) -> Form:
    """Return the form of what a step hands to the next one."""
    part, given = op.estimator, op.takes.form
    if kind is Kind.TEXT:
        return "dense" if op.children and op.out.form == "dense" else "sparse"
    if kind is Kind.META:  # a selector hands on what it is given
        return given
    if hasattr(part, "dense_output"):
        return given if given != "dense" and not part.dense_output else "dense"
    if _KINDS[type(part)] is Kind.MODEL or (not op.refused and given == "dense"):
        return "dense"
    texts = any(_KINDS[type(leaf.estimator)] is Kind.TEXT for leaf in op.leaves)
    return "unknown" if texts or given != "dense" else "dense"


def _refuse_callbacks(steps: Sequence[Op], *whole: tuple[str, Any]) -> None:
    """Reject callbacks, which only scikit-learn's own steps would call."""
    called = [path for path, part in whole if getattr(part, "_skl_callbacks", None)]
    called += [
        leaf.path
        for op in steps
        if op.takes.device == "cuda" or op.transforms_tables
        for leaf in op.leaves
        if getattr(leaf.estimator, "_skl_callbacks", None)
    ]
    if called:
        why = "only scikit-learn's own fit calls callbacks"
        suggestion = "leave them out, or run it on the CPU"
        raise Unsupported(*(Reason(path, why, suggestion, "set_callbacks") for path in called))


def _refuse_sparse(steps: Sequence[tuple[str, Any]]) -> None:
    """Reject what scikit-learn would reject only after it has read all texts."""
    for (before, maker), (name, taker) in pairwise(steps):
        texts = _KINDS[type(maker)] is Kind.TEXT
        if not texts or not type(taker).__module__.startswith("sklearn."):
            continue
        if not reads_text(taker) and not get_tags(taker).input_tags.sparse:
            why = f"{type(taker).__name__} does not support sparse rows, which {before} returns"
            suggestion = (
                "put a TruncatedSVD before it, or use an estimator such as LogisticRegression"
            )
            raise Unsupported(Reason(name, why, suggestion))


def as_step(estimator: Estimator) -> Op | None:
    """Return an estimator as one step of preprocessing; None where it is none, or is invalid."""
    if type(estimator) not in CONTAINERS and kind_of_step(estimator) is not Kind.PREPROCESSING:
        return None
    try:
        return compile_step(estimator, "estimator", RowSpec())
    except ConfigError:
        return None


def runs_on_blocks(estimator: Estimator) -> bool:
    """Return whether an estimator is preprocessing that runs on blocks of rows."""
    op = as_step(estimator)
    return op is not None and op.on_blocks
