"""Where each step of an estimator would run, and why, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from pipeline.backends.base import Placement
from pipeline.compile.choose import choose_for, describe_sizes
from pipeline.compile.compile import DEVICES, compile, reads_table, spec_for
from pipeline.compile.forecast import forecast
from pipeline.compile.plan import describe_places, render_places, run_as_given
from pipeline.compile.spec import Op
from pipeline.system import devices
from pipeline.system.devices import Choice
from pipeline.table import frames
from pipeline.table.convert import why_no_table
from pipeline.typing import Estimator, Table


@dataclass(frozen=True, repr=False)
class Explanation:
    """Where each step of an estimator would run, and why: print it, or show it in a notebook.

    Parameters
    ----------
    estimator : estimator
    device : str
        The device that was explained.
    why : str
        Why this device.
    placements : tuple of Placement
        One per step; `implementation` is empty if there is none.
    advice : str
        From which size ``"auto"`` uses a GPU; empty if a device was named.
    """

    estimator: BaseEstimator
    device: str
    why: str
    placements: tuple[Placement, ...]
    advice: str = ""

    @property
    def supported(self) -> bool:
        """Whether each step has an implementation on the device."""
        return all(place.implementation for place in self.placements)

    def __repr__(self) -> str:
        """Return a table."""
        lines = describe_places(self.placements)
        return "\n".join([*lines, self.advice] if self.advice else lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `json.dumps`.

        Returns
        -------
        dict
            ``device``, ``why``, ``advice``, ``supported``, and ``steps``: a list with the fields of
            `Placement`, each of whose ``reasons`` has ``step``, ``why``, ``instead`` and
            ``parameter``.
        """
        names = ("device", "why", "advice", "supported")
        steps = [place.to_dict() for place in self.placements]
        return {**{name: getattr(self, name) for name in names}, "steps": steps}

    def _repr_html_(self) -> str:
        why = "; ".join(filter(None, [self.why, self.advice]))
        return render_places(f"device={self.device!r}: {why}", self.placements)


def explain(
    estimator: BaseEstimator, device: str = "auto", X: Table = None, *, dtype: str = "auto"
) -> Explanation:
    """Return where each step would run, without running anything and without a GPU.

    Parameters
    ----------
    estimator : estimator
        For an `Accelerated`, or a search over one, the estimator inside is explained.
    device : {"auto", "cpu", "cuda"}
        ``"cuda"`` works on machines without a GPU as well. For an `Accelerated`, "auto" means its
        own device, and its own `dtype`.
    X : table, optional
        The table to fit; ``"auto"`` decides by its size. For a Dask frame or array, each step
        says what happens to its partitions; none is computed.
    dtype : {"auto", "float32", "float64"}
        Type of the matrix that the last estimator learns from, as in `Accelerated`.

    Returns
    -------
    Explanation
        Text with `print`, a table in a notebook, data with ``to_dict()``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> print(explain(LogisticRegression(C=0.5), device="cpu"))
    logisticregression  cpu   sklearn.LogisticRegression
    """
    estimator, device, dtype = _bare(estimator, device, dtype)
    auto = device not in DEVICES
    choice = Choice(device, "as requested")
    if auto:
        choice = devices.choose(device) if X is None else choose_for(device, estimator, X)
    steps = compile(estimator, spec_for(estimator, X, choice.name)).steps
    placements = [place for op in steps for place in _place(op)]
    table = choice.name == "cpu" and reads_table(steps[0].estimator)
    if table and (why := why_no_table(X)):
        placements = run_as_given(estimator, why).placements
    if frames.is_partitioned(X):
        for name, said in forecast(steps, choice.name, X, dtype).items():
            placements = [
                place.noted(said) if f"{place.step}.".startswith(f"{name}.") else place
                for place in placements
            ]
    sizes = describe_sizes(estimator) if auto else ""
    return Explanation(estimator, choice.name, choice.why, tuple(placements), sizes)


def _bare(estimator: Estimator, device: str, dtype: str) -> tuple[Any, str, str]:
    """Return what an `Accelerated` holds, by itself or as what a search fits, and its options.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> _bare(GridSearchCV(Ridge(), {}), "auto", "auto")
    (GridSearchCV(estimator=Ridge(), param_grid={}), 'auto', 'auto')
    """
    if hasattr(type(estimator), "to_sklearn"):
        device = estimator.device if device == "auto" else device
        dtype = estimator.dtype if dtype == "auto" else dtype
        return _bare(estimator.estimator, device, dtype)
    held = getattr(estimator, "estimator", None)
    if not hasattr(type(held), "to_sklearn"):
        return estimator, device, dtype
    held, device, dtype = _bare(held, device, dtype)
    bare = copy(estimator)
    bare.estimator = held
    return bare, device, dtype


def _place(op: Op) -> Sequence[Placement]:
    """Return where a step would run, or why it cannot."""
    if op.takes.device == "cpu" or not op.refused:
        return op.placements
    if op.runner == "meta":
        return [place for inner in op.children for step in inner.steps for place in _place(step)]
    return [Placement(r.step, "", "", f"{r}", reasons=(r,)) for r in op.refused]
