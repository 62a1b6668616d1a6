"""Where a worker's process begins: what replaces scikit-learn's classes must come before them.

Only the standard library is imported here, and so this is a module of its own.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from multiprocessing.connection import Connection

PATCHES = {
    "intelex": ("sklearnex", "patch_sklearn"),
    "accel": ("cuml.accel", "install"),
}
"""Variant -> module and function that put other classes in the place of scikit-learn's."""


def enter(variant: str, payload: bytes, channel: Connection) -> None:
    """Put a variant's classes in place, then call what is in the payload.

    Parameters
    ----------
    variant : str
    payload : bytes
        A pickled pair of a function and its second argument; the first is the channel.
    channel : Connection
    """
    failed = patch(variant)
    serve, argument = pickle.loads(payload)
    if failed:
        serve = _refuse(failed)
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


def _refuse(why: str) -> Callable[[Connection, object], None]:
    def serve(channel: Connection, argument: object) -> None:
        while True:
            try:
                channel.recv()
                channel.send(why)
            except (EOFError, OSError):
                return

    return serve
