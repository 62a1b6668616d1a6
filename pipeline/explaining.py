"""Where each step of a spec would run, and why, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.base import BaseEstimator

from pipeline.devices import choose
from pipeline.lowering import RULES, on_host, placements, validate, walk
from pipeline.plan import Placement


@dataclass(frozen=True)
class Explanation:
    """Where each step of a spec would run, and why; print it.

    Parameters
    ----------
    device : str
        The device that was explained.
    placements : tuple of Placement
        One a step; `implementation` is empty where there is none.
    """

    device: str
    placements: tuple[Placement, ...]

    def __str__(self) -> str:
        """Return a table."""
        width = max((len(p.step) for p in self.placements), default=0)
        lines = [
            f"{p.step:{width}}  {p.device or '-':4}  {p.implementation or 'no equivalent'}"
            + (f"  ({p.note})" if p.note else "")
            for p in self.placements
        ]
        return "\n".join(lines)


def explain(spec: BaseEstimator, device: str = "auto") -> Explanation:
    """Return where each step would run, without running anything and without a GPU.

    Parameters
    ----------
    spec : estimator
    device : {"auto", "cpu", "cuda"}
        ``"cuda"`` is explained on machines without a GPU as well.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> print(explain(LogisticRegression(C=0.5), device="cpu"))
    logisticregression  cpu   sklearn.LogisticRegression
    """
    validate(spec)
    name = device if device in RULES else choose(device).name
    rows: list[Placement] = []
    for step, part, found in walk(spec, name):
        if not found:
            rows += placements(step, part, name)
        elif name == "cpu":
            rows += on_host(step, part, found, asked="cpu").placements
        else:
            rows += [Placement(reason.step, "", "", f"{reason}") for reason in found]
    return Explanation(name, tuple(rows))
