"""Metadata of `fit` and other methods, routed to steps as in scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import getfullargspec, signature
from typing import Any, NamedTuple

from sklearn import get_config
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

# There is no public way to raise scikit-learn's error about what needs routing.
from sklearn.utils._metadata_requests import _raise_for_params
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from pipeline.compile.compile import compile
from pipeline.compile.program import Program
from pipeline.compile.spec import CONTAINERS, Op
from pipeline.errors import ConfigError, Reason, Unsupported, in_words_of
from pipeline.table import target
from pipeline.twins import TWINS
from pipeline.typing import Estimator, ReadParams, Table

METHODS = (
    *("fit", "partial_fit", "fit_transform", "fit_predict", "transform", "inverse_transform"),
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "score"),
)
"""Methods whose metadata scikit-learn routes."""
BY_ROUTING = ("decision_function", "inverse_transform", "transform")
"""Methods to which scikit-learn's containers pass nothing on without routing."""
WEIGHTS = "sample_weight"
_SUGGESTION = "pass it none (set_fit_request(sample_weight=False)), or fit it with scikit-learn"


class Requested(NamedTuple):
    """What a transformer requests, or is given by its name."""

    path: str
    transformer: Any
    params: Mapping[str, Any]


def router(model: Estimator) -> MetadataRouter:
    """Return how metadata go from a model to its estimator: each method's to the same method."""
    mapping = MethodMapping()
    for method in METHODS:
        mapping.add(caller=method, callee=method)
    return MetadataRouter(owner=model).add(estimator=model.estimator, method_mapping=mapping)


def check_transform_input(estimator: Estimator) -> None:
    """Reject, with scikit-learn's message, `transform_input` of a pipeline without its routing."""
    while type(estimator) is Pipeline and type(estimator.steps) is list and not routes():
        if estimator.transform_input is not None:
            raise ConfigError(
                "The `transform_input` parameter can only be set if metadata routing is enabled. "
                "You can enable metadata routing using "
                "`sklearn.set_config(enable_metadata_routing=True)`."
            )
        last = estimator.steps[-1] if estimator.steps else None
        estimator = last[-1] if isinstance(last, tuple | list) else None


def route(
    model: Estimator, method: str, params: ReadParams
) -> tuple[Sequence[Requested], dict[str, Any]]:
    """Return where the metadata of a call of a model go.

    First what goes to the transformers that run on blocks and to all before the last step, then
    what goes to the last step, where it is an estimator.

    With scikit-learn's routing, by what the steps ask for, and as in a direct call to an estimator
    alone; without it, by the names of the steps, and what has no step's name goes to the last one.
    With routing, what no step requests is an error of scikit-learn's.
    """
    whole = compile(model.estimator)
    if routes():
        params = _routed(model, method, params)
    *before, (last, own) = _steps(whole, method, params)
    if params and type(whole.estimator) is Pipeline:
        _refuse_transformed(whole.estimator, own)
    if own and last.on_blocks:
        before, own = [*before, (last, own)], {}
    asked = [each for op, given in before for each in _asked(op, given)]
    return asked, own


def route_to_last(model: Estimator, method: str, params: ReadParams) -> dict[str, Any]:
    """Return what the last step is given in a call of a fitted model.

    Errors are scikit-learn's, or `Unsupported`: a transformer requests something, but takes only X.
    """
    if routes():
        asked, last = route(model, method, params)
        refuse_metadata(asked, f"transformers take only X in {method}")
        return last
    if method in BY_ROUTING and type(model.estimator) in CONTAINERS:
        _raise_for_params(params, model.estimator, method)
    return dict(params)


def as_sklearn_takes(model: Estimator, method: str, params: ReadParams) -> dict[str, Any]:
    """Return the parameters that the estimator of a model takes where the model takes these."""
    if routes() and params and method in METHODS:
        return _routed(model, method, params)
    steps = model.estimator.steps if isinstance(model.estimator, Pipeline) else []
    # A Pipeline takes no bare names; those of a model are the last step's, where it is one.
    last, how = steps[-1] if steps and "fit" in method else ("", None)
    if how in (None, "passthrough"):
        return dict(params)
    return {n if "__" in n else f"{last}__{n}": value for n, value in params.items()}


def _routed(model: Estimator, method: str, params: ReadParams) -> dict[str, Any]:
    """Return what the estimator of a model asks for, and what it takes by name when it is alone."""
    estimator, own = model.estimator, {"y"}
    if type(estimator) is not Pipeline:
        behind = "fit" if method.startswith("fit_") else method
        methods = [
            getattr(estimator, name) for name in (method, behind) if hasattr(estimator, name)
        ]
        own |= {name for each in methods for name in signature(each).parameters}
    asked = {name: value for name, value in params.items() if name not in own}
    routed = process_routing(model, method, **asked).estimator[method] if asked else {}
    return {name: value for name, value in params.items() if name in own} | dict(routed)


def refuse_metadata(asked: Sequence[Requested], why: str) -> None:
    """Reject what transformers request where they are given nothing."""
    found = [Reason(a.path, why, _SUGGESTION, name) for a in asked for name in a.params]
    if found:
        raise Unsupported(*found)


@contextmanager
def hand_over(programs: Sequence[Program], asked: Sequence[Requested], X: Table) -> Iterator[None]:
    """Give programs the weights that their transformers request, while they learn.

    `Unsupported` names each transformer that requests what its twin does not take; `DataError` says
    that the weights do not match the rows.
    """
    try:
        refused = [each for each in asked if not _weigh(programs, each, X)]
        refuse_metadata(refused, "it takes only X and y here")
        yield
    finally:
        for program in programs:
            program.weights = []


def _weigh(programs: Sequence[Program], asked: Requested, X: Table) -> bool:
    """Give weights to the program of a transformer, and return whether its twin takes them."""
    _check_taken(asked)
    program = next((p for p in programs if _has(p, asked.transformer)), None)
    twin = TWINS.get(type(asked.transformer))
    if program is None or twin is None or not twin.weighted or set(asked.params) != {WEIGHTS}:
        return False
    weights = target.check_weights(asked.params[WEIGHTS], X, asked.path)
    program.weights.append((asked.transformer, weights))
    return True


def _check_taken(asked: Requested) -> None:
    """Reject, with Python's message, what the `fit` of a transformer does not take."""
    kind = type(asked.transformer)
    for name in asked.params:
        if not has_fit_parameter(asked.transformer, name):
            fit = getattr(kind.fit, "__qualname__", f"{kind.__name__}.fit")
            said = TypeError(f"{fit}() got an unexpected keyword argument {name!r}")
            if kind in TWINS and not getfullargspec(kind.fit).varkw:
                raise said
            raise in_words_of(
                said, ConfigError(f"this error is in the step {asked.path}")
            )  # it may hand it on


def _has(program: Program, transformer: Estimator) -> bool:
    return program.op is not None and any(op.estimator is transformer for op in program.op.tree)


def routes() -> bool:
    """Return whether scikit-learn's metadata routing is on."""
    return bool(get_config()["enable_metadata_routing"])


def _refuse_transformed(estimator: Pipeline, params: ReadParams) -> None:
    names = [name for name in estimator.transform_input or () if name in params]
    if names:
        why = f"the steps before the last would have to transform {names}"
        raise Unsupported(Reason("pipeline", why, "transform them first", "transform_input"))


Given = tuple[Op, dict[str, Any]]
"""A step, and what it is given."""


def _steps(whole: Op, method: str, params: ReadParams, *, bare: bool = True) -> list[Given]:
    """Return the steps with what they are given; `bare` names are the last step's."""
    estimator = whole.estimator
    if type(estimator) is not Pipeline:
        return [(whole, dict(params))]
    held = {name: op for name, op in whole.named if op.runner != "passthrough"}
    if routes():
        routed = process_routing(estimator, method, **params)
        return [(op, _joined(routed[name])) for name, op in held.items()]
    given: dict[str, dict[str, Any]] = {name: {} for name in held}
    bare = bare and estimator.steps[-1][0] in given
    for key, value in params.items():
        step, _, name = key.partition("__")
        if name and step in given:
            given[step][name] = value
        elif bare:
            given[[*held][-1]][key] = value
        else:
            raise ConfigError(
                f"Pipeline.fit does not accept the {key} parameter. You can pass parameters to "
                "specific steps of your pipeline using the stepname__parameter format"
            )
    return [(held[name], own) for name, own in given.items()]


def _joined(by_method: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for held in by_method.values() for name, value in held.items()}


def _asked(op: Op, params: ReadParams) -> Iterator[Requested]:
    """Return what the transformers inside a step are given."""
    params = {name: value for name, value in params.items() if value is not None}
    if not params:
        return
    if type(op.estimator) not in CONTAINERS:
        yield Requested(op.path, op.estimator, params)
        return
    for inner, own in _inside(op, params):
        yield from _asked(inner, own)


def _inside(op: Op, params: ReadParams) -> list[Given]:
    part = op.estimator
    if type(part) is Pipeline:
        return _steps(op, "fit_transform", params, bare=False)
    if routes():
        try:
            routed = process_routing(part, "fit_transform", **params)
        except ValueError as error:  # `fit` alone may ask for other metadata
            where = ConfigError(f"this error is in the step {type(part).__name__}")
            raise in_words_of(error, where) from error
        return [(each, _joined(routed[name])) for name, each in op.named]
    if type(part) is ColumnTransformer:
        raise ConfigError(
            "Passing extra keyword arguments to ColumnTransformer.fit_transform is only supported "
            "if enable_metadata_routing=True, which you can set using `sklearn.set_config`. Extra "
            f"parameters passed are: {set(params)}"
        )
    return [(each, dict(params)) for each in op.children if not isinstance(each.estimator, str)]
