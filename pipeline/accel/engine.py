"""A call of a scikit-learn object, run by the engine in its place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from sklearn.base import BaseEstimator

from pipeline.accel.adopted import State, adopt, computes_in_float64, settle, state_of
from pipeline.accel.sites import Site
from pipeline.accel.verify import beside, first_difference
from pipeline.errors import Refused
from pipeline.model.accelerated import Accelerated
from pipeline.table.borrowed import borrow
from pipeline.typing import Params, Table


class Engine(Accelerated):
    """A model that raises where scikit-learn would run the whole estimator, or predict."""

    def _may_ask(self, device: str, refused: Refused, X: Table) -> bool:
        return False

    def _learn_as_given(
        self, method: str, X: Table, y: Any, params: Params, refused: Refused
    ) -> NoReturn:
        raise refused


def fit(
    user: BaseEstimator, name: str, given: Any, choice: Params, call: Site, *, verify: bool
) -> Any:
    """Fit a model in the place of the user's object, which gets what it has learned.

    `given` are the arguments by position and by name; `choice` are parameters of the model: the
    device, and whether anything may run on the host. `call` gets what ran where. With `verify`, a
    clone is fitted by plain scikit-learn, and compared.
    """
    args, params = given
    before = state_of(user)
    if before is not None and before.root() is not user:
        before = settle(user)
    elif before is not None:
        before.release()  # without lifting, which takes long on a GPU
    theirs = borrow(user) if verify else None
    work = None if theirs is None else partial(getattr(theirs, name), *args, **params)
    try:
        model = Engine(borrow(user), **choice)
        with beside(work, call) as plain:
            made = getattr(model, name)(*args, **params)
    except BaseException:
        if before is not None:
            before.lift()
        raise
    X = args[0] if args else params["X"]
    state = adopt(user, model, before, wide=model.device_ == "cuda" and computes_in_float64(X))
    tell([model], call)
    if plain is not None:
        state.beside = theirs
        results = [] if name == "fit" else [("the result", made, plain.made)]
        call.differs = plain.error or first_difference(results, user, theirs)
    return user if name == "fit" else made


def ask(state: State, name: str, given: Any, call: Site, *, verify: bool) -> Any:
    """Return what the model says in the place of the user's object; parameters as in `fit`."""
    args, params = given
    theirs = state.beside if verify else None
    work = None if theirs is None else partial(getattr(theirs, name), *args, **params)
    with beside(work, call) as plain:
        made = getattr(state.model, name)(*args, **params)
    tell([state.model], call)
    if plain is not None:
        call.differs = plain.error or first_difference([("the result", made, plain.made)])
    return made


def tell(models: Sequence[Accelerated], call: Site) -> None:
    """Note where the steps of models ran, and what was copied in their last calls."""
    places = [place for model in models for place in model.plan_.placements]
    devices = {place.device for place in places} or {models[0].device_}
    call.ran = ", ".join(sorted(devices, reverse=True))
    logs = [model.execution_log_ for model in models]
    events = [event for log in logs for event in (log.last or log).events]
    call.to_device_bytes = sum(event.to_device_bytes for event in events)
    call.to_host_bytes = sum(event.to_host_bytes for event in events)
    if "cuda" in devices:
        on_host = [f"{place.step}: {place.remarks}" for place in places if place.device == "cpu"]
        call.why = "; ".join(dict.fromkeys(on_host))
