"""The start of a worker's process: replacements of scikit-learn's classes must be in place first.

Only the standard library is imported here, and so this is a module of its own.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys

from pipeline.system.libc import c_function

PATCHES = {"intelex": ("sklearnex", "patch_sklearn"), "accel": ("cuml.accel", "install")}
"""Variant -> module and function that put other classes in the place of scikit-learn's."""
_PARENT_DEATH_SIGNAL = 1
if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Channel
else:
    from multiprocessing.connection import Connection as Channel


def enter(variant: str, descriptor: int, parent: int) -> None:
    """Put a variant's classes in place, then call what comes through a channel.

    The channel brings a pickled pair of a function and its second argument; the first is the
    channel. `parent` is the process that started this one, and ends it with its own end.
    """
    if sys.platform == "linux":
        c_function("prctl")(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            raise SystemExit
    channel = Channel(descriptor)
    failed = patch(variant)
    try:
        payload = channel.recv_bytes()
    except (EOFError, OSError):  # The parent was interrupted while it started this process.
        return
    if failed:
        channel.recv_bytes()
        channel.send(failed)
        return
    serve, argument = pickle.loads(payload)
    serve(channel, argument)


def patch(variant: str) -> str:
    """Put a variant's classes in place; return why that failed, or nothing."""
    if variant not in PATCHES:
        return ""
    module, function = PATCHES[variant]
    try:
        getattr(importlib.import_module(module), function)()
    except Exception as error:
        return f"{module}.{function}() failed: {type(error).__name__}: {error}"
    return ""
