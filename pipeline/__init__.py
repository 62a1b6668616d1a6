"""A plain scikit-learn program for tables, run on the CPU or on an NVIDIA GPU.

Public names are imported on first use, so ``import pipeline`` loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.clusters import cluster
    from pipeline.errors import (
        Busy,
        CannotWrite,
        CheckpointDiffers,
        ClusterUnavailable,
        ConfigError,
        DataError,
        DeviceUnavailable,
        OutOfMemory,
        PipelineError,
        Unsupported,
        WorkerLost,
    )
    from pipeline.estimator import Accelerated
    from pipeline.explaining import explain
    from pipeline.loading import scan
    from pipeline.preprocessing.calendar import CalendarFeatures
    from pipeline.reading import preflight, read
    from pipeline.saving import load, save
    from pipeline.scripting import adopt, report

__version__ = "0.1.0"

_HOME = {
    "Accelerated": "pipeline.estimator",
    "Busy": "pipeline.errors",
    "CalendarFeatures": "pipeline.preprocessing.calendar",
    "CannotWrite": "pipeline.errors",
    "CheckpointDiffers": "pipeline.errors",
    "ClusterUnavailable": "pipeline.errors",
    "ConfigError": "pipeline.errors",
    "DataError": "pipeline.errors",
    "DeviceUnavailable": "pipeline.errors",
    "OutOfMemory": "pipeline.errors",
    "PipelineError": "pipeline.errors",
    "Unsupported": "pipeline.errors",
    "WorkerLost": "pipeline.errors",
    "adopt": "pipeline.scripting",
    "cluster": "pipeline.clusters",
    "explain": "pipeline.explaining",
    "load": "pipeline.saving",
    "preflight": "pipeline.reading",
    "read": "pipeline.reading",
    "report": "pipeline.scripting",
    "save": "pipeline.saving",
    "scan": "pipeline.loading",
}

__all__ = [
    "Accelerated",
    "Busy",
    "CalendarFeatures",
    "CannotWrite",
    "CheckpointDiffers",
    "ClusterUnavailable",
    "ConfigError",
    "DataError",
    "DeviceUnavailable",
    "OutOfMemory",
    "PipelineError",
    "Unsupported",
    "WorkerLost",
    "adopt",
    "cluster",
    "explain",
    "load",
    "preflight",
    "read",
    "report",
    "save",
    "scan",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'pipeline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
