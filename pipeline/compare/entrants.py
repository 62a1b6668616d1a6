"""The variants of a comparison: which can run here, and why the others cannot."""

from __future__ import annotations

from pipeline import devices
from pipeline.compare import results as record
from pipeline.compare.statistics import REFERENCE

TITLES = {
    REFERENCE: "plain scikit-learn",
    "cpu": "Accelerated on the CPU",
    "cuda": "Accelerated on a GPU",
}


def variants(device: str) -> list[record.Variant]:
    """Return the variants for a device, with the reason where one cannot run.

    Raises
    ------
    DeviceUnavailable
        ``"cuda"`` was asked for and cannot be used here.
    """
    devices.choose(device)
    why_not = "device='cpu' was asked for" if device == "cpu" else devices.obstacle()
    return [
        record.Variant(
            name=name,
            title=title,
            device="cuda" if name == "cuda" else "cpu",
            status="skipped" if name == "cuda" and why_not else "ok",
            why=why_not if name == "cuda" else "",
        )
        for name, title in TITLES.items()
    ]
