"""A plain scikit-learn program for tables, run on the CPU or on an NVIDIA GPU.

Public names are imported on first use, so ``import pipeline`` loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.benchmark.api import new_task, report
    from pipeline.data.read import preflight, read, scan
    from pipeline.distributed.cluster import cluster
    from pipeline.errors import (
        CheckpointDiffers,
        ClusterUnavailable,
        ConfigError,
        DataError,
        DeviceUnavailable,
        OutOfMemory,
        OutputError,
        OutputLocked,
        PipelineError,
        Unsupported,
        WorkerLost,
    )
    from pipeline.estimator.accelerated import Accelerated
    from pipeline.planning.explain import explain
    from pipeline.preprocessing.transformers.calendar import CalendarFeatures
    from pipeline.serving.load import load
    from pipeline.serving.save import save

__version__ = "0.1.0"

_HOME = {
    "Accelerated": "pipeline.estimator.accelerated",
    "CalendarFeatures": "pipeline.preprocessing.transformers.calendar",
    "CheckpointDiffers": "pipeline.errors",
    "ClusterUnavailable": "pipeline.errors",
    "ConfigError": "pipeline.errors",
    "DataError": "pipeline.errors",
    "DeviceUnavailable": "pipeline.errors",
    "OutOfMemory": "pipeline.errors",
    "OutputError": "pipeline.errors",
    "OutputLocked": "pipeline.errors",
    "PipelineError": "pipeline.errors",
    "Unsupported": "pipeline.errors",
    "WorkerLost": "pipeline.errors",
    "cluster": "pipeline.distributed.cluster",
    "explain": "pipeline.planning.explain",
    "load": "pipeline.serving.load",
    "new_task": "pipeline.benchmark.api",
    "preflight": "pipeline.data.read",
    "read": "pipeline.data.read",
    "report": "pipeline.benchmark.api",
    "save": "pipeline.serving.save",
    "scan": "pipeline.data.read",
}

__all__ = [
    "Accelerated",
    "CalendarFeatures",
    "CheckpointDiffers",
    "ClusterUnavailable",
    "ConfigError",
    "DataError",
    "DeviceUnavailable",
    "OutOfMemory",
    "OutputError",
    "OutputLocked",
    "PipelineError",
    "Unsupported",
    "WorkerLost",
    "cluster",
    "explain",
    "load",
    "new_task",
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
