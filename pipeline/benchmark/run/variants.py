"""The variants of a comparison: which can run here, and why the others cannot."""

from __future__ import annotations

from msgspec import structs

from pipeline.benchmark.judge.statistics import REFERENCE
from pipeline.benchmark.record.results import Variant
from pipeline.optional import available, to_install
from pipeline.system import devices

VARIANTS = tuple(
    Variant(name=name, title=title, device=device, status="ok", why="")
    for name, title, device in (
        (REFERENCE, "plain scikit-learn", "cpu"),
        ("cpu", "Accelerated on the CPU", "cpu"),
        ("cuda", "Accelerated on a GPU", "cuda"),
        ("intelex", "plain scikit-learn patched by scikit-learn-intelex", "cpu"),
        ("accel", "plain scikit-learn under cuml.accel on a GPU", "cuda"),
    )
)
NEEDED = {
    "intelex": ("sklearnex", "scikit-learn-intelex is not installed"),
    "accel": ("cuml", f"cuml is not installed ({to_install('cuml')})"),
}
"""Variant -> the package that it needs, and what to say where it is missing."""


def variants(device: str) -> list[Variant]:
    """Return the variants for a device, with the reason where one cannot run."""
    devices.choose(device)
    no_gpu = "device='cpu' was requested" if device == "cpu" else devices.obstacle()
    found = []
    for variant in VARIANTS:
        package, missing = NEEDED.get(variant.name, ("", ""))
        why = no_gpu if variant.device == "cuda" else ""
        why = why or (missing if package and not available(package) else "")
        status = "skipped" if why else "ok"
        found.append(structs.replace(variant, status=status, why=why))
    return found
