"""The variants of a comparison: which can run here, and why the others cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pipeline.benchmark import results
from pipeline.benchmark.statistics import REFERENCE
from pipeline.optional import available
from pipeline.system import devices


class Entrant(NamedTuple):
    """A variant that may take part.

    Parameters
    ----------
    name, title : str
    device : {"cpu", "cuda"}
    missing : callable
        Returns which package is missing, or an empty string.
    """

    name: str
    title: str
    device: str
    missing: Callable[[], str] = str


def _intelex() -> str:
    return "" if available("sklearnex") else "scikit-learn-intelex is not installed"


def _accel() -> str:
    return "" if available("cuml") else "cuml is not installed (`make setup`)"


ENTRANTS = (
    Entrant(REFERENCE, "plain scikit-learn", "cpu"),
    Entrant("cpu", "Accelerated on the CPU", "cpu"),
    Entrant("cuda", "Accelerated on a GPU", "cuda"),
    Entrant("intelex", "plain scikit-learn patched by scikit-learn-intelex", "cpu", _intelex),
    Entrant("accel", "plain scikit-learn under cuml.accel on a GPU", "cuda", _accel),
)


def variants(device: str) -> list[results.Variant]:
    """Return the variants for a device, with the reason where one cannot run.

    Raises
    ------
    DeviceUnavailable
        ``"cuda"`` was asked for and cannot be used here.
    """
    devices.choose(device)
    no_gpu = "device='cpu' was asked for" if device == "cpu" else devices.obstacle()
    return [_variant(entrant, no_gpu) for entrant in ENTRANTS]


def _variant(entrant: Entrant, no_gpu: str) -> results.Variant:
    why = (no_gpu if entrant.device == "cuda" else "") or entrant.missing()
    return results.Variant(
        name=entrant.name,
        title=entrant.title,
        device=entrant.device,
        status="skipped" if why else "ok",
        why=why,
    )
