"""What each worker of a local cluster runs first: Ctrl-C is for the process that has started it.

A terminal sends it to all processes; a worker that ended by it would be started again.
"""

from __future__ import annotations

import signal


def dask_setup(worker: object) -> None:
    """Ignore Ctrl-C, in a worker; Dask calls it in the main thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
