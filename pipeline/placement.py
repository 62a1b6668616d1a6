"""Where a step of a spec runs: what `explain`, plans and records say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipeline.errors import Reason


@dataclass(frozen=True)
class Placement:
    """Where one step of the spec runs.

    Parameters
    ----------
    step : str
        Path in the spec, ``"columntransformer.numbers.simpleimputer"``.
    implementation : str
        What runs it; empty when nothing can.
    device : str
        ``"cpu"``, ``"cuda"``, or empty.
    note : str
        What differs from the spec, or why it does not run on the device asked for.
    parameters : mapping of str to object
        What the implementation is given under another name or value than in the spec.
    dropped : tuple of str
        Parameters of the spec, as ``"name=value"``, that make no difference to the implementation.
    reasons : tuple of Reason
        Why it does not run on the device asked for.
    """

    step: str
    implementation: str
    device: str
    note: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def remarks(self) -> str:
        """All that there is to say, in one line.

        >>> Placement("k", "cuml.cluster.KMeans", "cuda", parameters={"init": "k-means||"}).remarks
        "takes init='k-means||'"
        """
        takes = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return "; ".join(filter(None, [takes and f"takes {takes}", self.note]))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data; values that JSON has no form for as their `repr`."""
        plain = {name: _plain(value) for name, value in self.parameters.items()}
        fields = {name: value for name, value in vars(self).items() if name != "reasons"}
        reasons = [asdict(reason) for reason in self.reasons]
        return fields | {"parameters": plain, "dropped": list(self.dropped), "reasons": reasons}


def changed(spec: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that an implementation is given otherwise than the spec has them.

    >>> changed({"C": 1.0, "tol": 0.1}, {"C": 1.0, "tol": 0.01, "solver": "qn"})
    {'tol': 0.01, 'solver': 'qn'}
    """
    return {
        name: value
        for name, value in given.items()
        if name not in spec or repr(spec[name]) != repr(value)
    }


def _plain(value: Any) -> Any:
    finite = not isinstance(value, float) or abs(value) < float("inf")
    return (
        value if value is None or (isinstance(value, str | int | float) and finite) else repr(value)
    )
