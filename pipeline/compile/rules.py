"""Which parts of a transformer run on blocks, and why the rest does not: rules by class.

Classes are looked up by exact type: a subclass is another algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from sklearn import get_config
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils._indexing import _get_column_indices

from pipeline.backends import cuda
from pipeline.backends.base import Placement
from pipeline.backends.cpu import HOST, is_xgboost
from pipeline.backends.xgboost.xgboost_model import find_bad_params
from pipeline.compile.spec import CONTAINERS, Op, RowSpec
from pipeline.errors import ConfigError, Reason, Unsupported, final, in_words_of
from pipeline.twins import TWINS
from pipeline.typing import Estimator, Form

BLOCKS = {"cpu": "pipeline (NumPy)", "cuda": "pipeline (CuPy)"}
SELECTOR = "use make_column_selector or list the columns"

Rule = Callable[[Any, str, RowSpec], Op]
"""From a transformer, its path and what is known of its rows to an `Op`."""


def compile_transformer(how: Any, path: str, spec: RowSpec) -> Op:
    """Return what runs a transformer, or a word for one, inside preprocessing.

    `ConfigError` says that a parameter, a name or a column is invalid.

    >>> from sklearn.preprocessing import StandardScaler
    >>> compile_transformer(StandardScaler(), "scale", RowSpec()).runner
    'twin'
    """
    if rule := RULES.get(type(how)):
        return rule(how, path, spec)
    check_parameters(how, path)
    if (twin := TWINS.get(type(how))) is None:
        return as_one(how, path, spec, [_no_twin(how, path)])
    if reasons := twin.unsupported_reasons(how, path):
        return as_one(how, path, spec, reasons)
    sparse = twin.makes_sparse(how, spec.form)
    out = spec.handed_on(_sparse_form(spec) if sparse else "dense")
    place = Placement(path, BLOCKS[spec.device], spec.device)
    return Op(path, how, "twin", spec, out, place=place)


def _word(word: str | None, path: str, spec: RowSpec) -> Op:
    """Return what a word stands for."""
    if word is None or word == "passthrough":
        place = None if word is None else Placement(path, BLOCKS[spec.device], spec.device)
        return Op(path, word, "passthrough", spec, spec, place=place)
    if word == "drop":
        return Op(path, word, "drop", spec, spec.handed_on("dense"))
    return as_one(word, path, spec, [_no_twin(word, path)])


def _no_twin(how: Any, path: str) -> Reason:
    known = ", ".join(sorted(each.__name__ for each in TWINS))
    why = f"this package does not implement {type(how).__name__} yet"
    return Reason(path, why, f"it implements {known}")


def _pipeline(how: Pipeline, path: str, spec: RowSpec) -> Op:
    """Return the steps, each of what the one before makes."""
    check_names(how, path)
    prefix = f"{path}." if path else ""
    given, children = spec, []
    for name, part in how.steps:
        if isinstance(part, str) and part != "passthrough":
            raise ConfigError(f"{prefix}{name}: {part!r} is not a scikit-learn estimator; pass one")
        children.append(compile_transformer(part, f"{prefix}{name}", given))
        given = children[-1].out
    reasons = []
    after = [op.estimator for op in children[1:] if op.runner != "twin"]  # twins read tables
    if any(map(_reads_documents, after)):
        why = "one of its steps reads text, which the step before it creates from columns"
        reasons.append(Reason(path, why, "pass the name of the column to its vectorizer"))
    return _container(how, path, spec, given.form, children, reasons)


def _columns(how: ColumnTransformer, path: str, spec: RowSpec) -> Op:
    """Return the branches, each of its columns where they are known."""
    check_names(how, path)
    prefix = f"{path}." if path else ""
    # A function would see one row here, and all of them in scikit-learn.
    by_data = [
        Reason(f"{prefix}{name}", "a function may select columns by their values", SELECTOR)
        for name, _, key in how.transformers
        if callable(key) and type(key) is not make_column_selector
    ]
    known = None if by_data else spec.names
    children, used = [], set()
    for name, part, key in how.transformers:
        whole = f"{prefix}{name}"
        scalar = isinstance(key, str | int) and not isinstance(key, bool)
        series = scalar and not left_out(part)
        names = None if known is None else selected(spec, [key] if series else key, whole)
        used |= {*(names or ())}
        children.append(_branch(part, whole, spec, names, series=series))
    if how.remainder != "drop":
        names = None if known is None else tuple(name for name in known if name not in used)
        children.append(_branch(how.remainder, f"{prefix}remainder", spec, names, series=False))
    reasons = []
    if spec.made:
        why = "a ColumnTransformer must be the first step of its pipeline"
        reasons.append(Reason(path, why, "move it there"))
    reasons += [*_weighed(how, path), *by_data]
    form = _beside(children) if how.sparse_threshold else "dense"
    return _container(how, path, spec, form, children, reasons)


def _branch(how: Any, path: str, spec: RowSpec, names: Any, *, series: bool) -> Op:
    """Return a branch that reads some columns of a table; a single one alone is a series."""
    given = RowSpec(spec.device, n_rows=spec.n_rows) if names is None else spec.taken(names)
    if series and hasattr(how, "fit"):
        why = "it gets a single column as a series"
        inner = compile_transformer(how, path, given)
        reasons = [Reason(path, why, "pass a list of columns")]
        op = as_one(how, path, given, reasons, inner.children)
        op = replace(op, out=inner.out, series=True)
    else:
        op = compile_transformer(how, path, given)
    return replace(op, columns=names)


def _union(how: FeatureUnion, path: str, spec: RowSpec) -> Op:
    """Return the branches, each of all columns."""
    check_names(how, path)
    prefix = f"{path}." if path else ""
    held = [
        compile_transformer(part, f"{prefix}{name}", spec) for name, part in how.transformer_list
    ]
    return _container(how, path, spec, _beside(held), held, _weighed(how, path))


def _container(
    how: Any,
    path: str,
    spec: RowSpec,
    form: Form,
    children: Sequence[Op],
    reasons: Sequence[Reason],
) -> Op:
    if reasons:
        return replace(as_one(how, path, spec, reasons, children), out=spec.handed_on(form))
    out = spec.handed_on(form)
    return Op(path, how, "container", spec, out, tuple(children))


def _weighed(how: Any, path: str) -> list[Reason]:
    if not how.transformer_weights:
        return []
    instead = "scale in the branch, or run the step with scikit-learn"
    why = "transformer_weights is not supported yet"
    return [Reason(path, why, instead, "transformer_weights")]


def _beside(children: Sequence[Op]) -> Form:
    """Return the form of branches side by side."""
    order: tuple[Form, ...] = ("dense", "sparse", "either", "unknown")
    return max([op.out.form for op in children], key=order.index, default="dense")


def _sparse_form(spec: RowSpec) -> Form:
    """Return the form of rows that a transformer makes, where they may be sparse."""
    return spec.form if spec.form != "dense" else "either"


def _reads_documents(how: Any) -> bool:
    """Return whether a step takes a sequence of texts, and no table."""
    tags = get_tags(how).input_tags if hasattr(how, "__sklearn_tags__") else None
    return tags is not None and tags.string and not tags.two_d_array


def as_one(
    how: Any, path: str, spec: RowSpec, reasons: Sequence[Reason], children: Sequence[Op] = ()
) -> Op:
    """Return what no blocks run: all rows at once go to cuML, where it can, or to the host."""
    texts = type(how).__module__.startswith("sklearn.feature_extraction.text")
    sparse = texts or (spec.form != "dense" and not getattr(how, "dense_output", True))
    out, held = spec.handed_on(_sparse_form(spec) if sparse else "dense"), tuple(children)
    rule = cuda.find_transformer(how) if spec.device == "cuda" else None
    try:
        if rule is not None:
            place, why = rule.describe(how, path), tuple(reasons)
            return Op(path, how, rule.runner, spec, out, held, why, rule=rule, place=place)
    except Unsupported as refused:
        reasons = refused.reasons
    place = place_on_host(path, how, reasons, asked=spec.device)
    return Op(path, how, "scikit-learn", spec, out, held, tuple(reasons), place=place)


def place_on_host(
    path: str, part: Estimator, reasons: Sequence[Reason], *, asked: str
) -> Placement:
    """Return that a step runs on the host as the user wrote it, and why."""
    why = "; ".join(f"{r.parameter}: {r.why}" if r.parameter else r.why for r in reasons)
    note = f"on the host: {why}" if asked != "cpu" else f"run by scikit-learn: {why}"
    return replace(HOST.describe(part, path), note=note, reasons=tuple(reasons))


RULES: dict[type, Rule] = {
    **dict.fromkeys((str, type(None)), _word),
    Pipeline: _pipeline,
    ColumnTransformer: _columns,
    FeatureUnion: _union,
}
"""Class -> its rule: of words, and of what holds others."""


def check_parameters(how: Any, path: str) -> None:
    """Let scikit-learn and XGBoost check the parameters of an estimator that holds no others.

    `ConfigError` says that it is a class, or that a value is out of range; `Unsupported` that
    XGBoost does not know a keyword.
    """
    if isinstance(how, type):
        said = f"Expected an estimator instance ({how.__name__}()), got estimator class instead"
        raise in_words_of(
            TypeError(f"{said} ({how.__name__})."),
            ConfigError(f"pass an instance in the step {path}"),
        )
    if type(how) in CONTAINERS:
        return
    try:
        _validate(how)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    if type(how) not in TWINS and is_xgboost(how) and (reasons := find_bad_params(how, path)):
        raise Unsupported(*reasons)


def _validate(how: Any) -> None:
    """Let scikit-learn check the parameters that it declares, unless its settings forbid it."""
    if hasattr(how, "_parameter_constraints") and not get_config()["skip_parameter_validation"]:
        how._validate_params()


def check_names(how: Any, path: str) -> None:
    """Check the parameters of a container, and that it has steps, each with its own name."""
    kind, where = type(how), path or type(how).__name__.lower()
    values = 3 if kind is ColumnTransformer else 2
    held = {Pipeline: "steps", FeatureUnion: "transformer_list"}.get(kind, "transformers")
    try:
        _validate(how)
    except ValueError as error:
        raise final(in_words_of(error, ConfigError(f"{where}: {error}"))) from error
    try:
        names = [name for name, *_ in getattr(how, held)]
        how._validate_names(names)
        if {*map(len, getattr(how, held))} - {values}:
            raise ValueError(f"{held} must be a list of tuples of {values} values")
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from error
    if not names and kind is not ColumnTransformer:
        what = "pipeline is empty; add steps"
        union = "FeatureUnion has no transformers; leave it out"
        raise ConfigError(f"{where}: the {what if kind is Pipeline else union}")


def left_out(how: Any) -> bool:
    """Return whether a step hands on what it is given."""
    return how is None or (isinstance(how, str) and how == "passthrough")


def selected(spec: RowSpec, key: Any, step: str) -> tuple[Any, ...]:
    """Return the columns that a `ColumnTransformer` key selects.

    >>> selected(RowSpec(names=("a", "b"), dtypes=(float, float)), slice(1, None), "step")
    ('b',)

    `ConfigError` says that a name or a position is not in the table, or that they are not a list.
    """
    assert spec.names is not None
    if type(key) is list and {*map(type, key)} == {str} and {*spec.names}.issuperset(key):
        return tuple(key)
    empty = spec.empty()
    key = key(empty) if callable(key) else key
    if isinstance(key, str | int | range):
        listed = list(key) if isinstance(key, range) else [key]
        raise ConfigError(f"{step}: the columns {key!r} are not a list; write {listed!r}")
    try:
        return tuple(empty.columns[_get_column_indices(empty, key)])
    except (LookupError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{step}: the columns {key!r} cannot be selected ({error}); the table has the "
            f"columns {list(spec.names)}"
        ) from error


def columns_read(op: Op) -> list[Any] | None:
    """Return the columns of a table that an estimator reads; None for all.

    >>> from sklearn.compose import make_column_transformer
    >>> spec = RowSpec(names=("a", "b"), dtypes=(float, float))
    >>> columns_read(compile_transformer(make_column_transformer(("drop", ["a"])), "", spec))
    []
    """
    if type(op.estimator) is Pipeline:
        return columns_read(op.active[0]) if op.active else None
    branches = [child.columns for child in op.children if child.runner != "drop"]
    if type(op.estimator) is not ColumnTransformer or op.takes.names is None or None in branches:
        return None
    read = {*chain.from_iterable(filter(None, branches))}
    return [name for name in op.takes.names if name in read]


def needs_order(estimator: Estimator) -> bool:
    """Return whether an estimator rejects columns in another order, and additional ones.

    scikit-learn's do, except a `ColumnTransformer`, which selects its columns by name, and
    functions, which take any. For classes of other packages it is not known.

    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler()
    >>> needs_order(scaler), needs_order(make_column_transformer((scaler, ["a"])))
    (True, False)
    """
    if type(estimator) is Pipeline:
        active = [how for _, how in estimator.steps if not left_out(how)]
        return needs_order(active[0]) if active else False
    if type(estimator) is FeatureUnion:
        return any(needs_order(how) for _, how in estimator.transformer_list if hasattr(how, "fit"))
    known = type(estimator).__module__.partition(".")[0] in ("sklearn", "xgboost", "pipeline")
    if not known or isinstance(estimator, ColumnTransformer):
        return False
    for each in [estimator, *estimator.get_params().values()]:
        by_name = isinstance(each, ColumnTransformer)
        if by_name or (isinstance(each, FunctionTransformer) and not each.validate):
            return False
    return True


def obstacles_to_batches(op: Op) -> list[Reason]:
    """Return why a transformer cannot learn batch by batch; none where it can."""
    return [reason for each in op.tree for reason in each.reasons] + need_all_rows(op)


def need_all_rows(op: Op) -> list[Reason]:
    """Return why a transformer that runs on blocks cannot learn from some rows after others."""
    against = []
    for each in op.tree:
        twin, why = TWINS.get(type(each.estimator)), ""
        if twin is not None and twin.needs_target:
            why = f"{type(each.estimator).__name__} needs the target of all rows"
        elif type(each.estimator) is Pipeline and len(each.active) > 1:
            why = "a step learns from the output of the one before, which changes with every batch"
        if why:
            against.append(Reason(each.path, why, "fit on all rows at once"))
    return against
