"""`cluster`: workers on this machine's cores or GPUs, or those of a scheduler elsewhere."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from pipeline.errors import ClusterUnavailable, ConfigError, pick
from pipeline.optional import available, load, to_install
from pipeline.system import hardware
from pipeline.trace import setting
from pipeline.typing import Params

_ADDRESSES = {
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "worker_dashboard_address": "127.0.0.1:0",
}
"""By default, the pages of scheduler and workers are open to the network."""
TCP_LEAST = 12
"""Seconds: Dask sends that many probes, one a second, before it gives a connection up."""
SCHEMES = ("tcp://", "tls://", "ucx://", "ucxx://")


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """How a cluster is started and monitored."""

    workers: int | None = None
    """Number of processes; by default, one for every two cores, or one for each GPU."""
    memory_limit: str | int = "auto"
    """Memory of one worker, such as ``"4GB"``; a worker that needs more is killed. ``"auto"`` is an
    equal share of this machine's memory."""
    timeout: float = 60.0
    """Seconds without a response after which a worker counts as lost."""
    retries: int = 2
    """How often a task is repeated after its worker was lost."""

    def __post_init__(self) -> None:
        """Check the values."""
        if self.workers is not None and self.workers < 1:
            raise ConfigError(f"workers={self.workers!r} is less than 1; pass 1 or more")
        if self.timeout <= 0:
            raise ConfigError(f"timeout={self.timeout!r} is not above 0; pass a number of seconds")
        if self.retries < 0:
            raise ConfigError(f"retries={self.retries!r} is less than 0; pass 0 or more")


_OPTIONS = {each.name for each in fields(ClusterOptions)}
_OPTIONS_OF = {"local": _OPTIONS, "cuda": _OPTIONS, "address": {"workers", "timeout"}}


@dataclass(frozen=True)
class Cluster:
    """A cluster that is running, described by `about`."""

    client: Any
    options: ClusterOptions = field(default_factory=ClusterOptions)
    about: str = "the active client"

    def workers(self) -> dict[str, dict[str, Any]]:
        """Return what the scheduler knows of each worker, by its address, sorted by name.

        `ClusterUnavailable` says that it does not respond within `ClusterOptions.timeout`.
        """
        scheduler, wait = self.client.scheduler, self.options.timeout
        try:
            # `scheduler_info` answers from a copy that something else may be renewing.
            identity = self.client.sync(scheduler.identity, n_workers=-1, callback_timeout=wait)
        except (AttributeError, OSError, RuntimeError) as error:
            raise self.lost(f"{error}" if scheduler else "its client was closed") from error
        workers = identity["workers"].items()
        return dict(sorted(workers, key=lambda item: str(item[1]["name"]).zfill(9)))

    def lost(self, why: str) -> ClusterUnavailable:
        """Return the error of a scheduler that is gone or says nothing."""
        return ClusterUnavailable(f"the scheduler of {self.about} is lost: {why}; start it again")


_running: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def active() -> Cluster | None:
    """Return the cluster that this code runs in: ours, or that of the user's own client."""
    if (ours := _running.get()) is not None:
        return ours
    client = _known_to_dask("default_client")
    return None if client is None else Cluster(client)


def on_a_worker() -> bool:
    """Return whether this code runs in a task of a cluster, which others would wait for."""
    return _known_to_dask("get_worker") is not None


def _known_to_dask(name: str) -> Any:
    """Return what a function of Dask finds; None where it finds none, or is not in use."""
    if "distributed" in sys.modules:
        with suppress(ValueError):
            return load(f"distributed.{name}")()
    return None


@contextmanager
def cluster(where: str = "local", **options: Any) -> Iterator[Cluster]:
    """Start workers, or connect to those of a scheduler; work inside the block runs on them.

    Parameters
    ----------
    where : str, default="local"
        ``"local"``: processes on this machine. ``"cuda"``: one process for each of its GPUs.
        ``"tcp://host:8786"``: the workers of the scheduler there.
    **options
        See `ClusterOptions`.

    Yields
    ------
    Cluster
        Workers started here are stopped at the end of the block, even after an error.

    Raises
    ------
    ConfigError
        An option is unknown or cannot be used here, or the workers would run the script again.
    ClusterUnavailable
        The scheduler or its workers do not respond in time.
    """
    kind, checked = _check_options(where, options)
    if not available("distributed"):
        raise ConfigError(f"Dask is not installed; {to_install('dask')}")
    begin = _connect if kind == "address" else _start
    if begin is _start:
        _check_main_guard()
    load("distributed")  # Its own settings must be there before ours are laid over them.
    with ExitStack() as stack:
        stack.enter_context(load("dask.config").set(dask_settings(checked)))
        started = begin(where, checked, stack)
        stack.enter_context(setting(_running, started))
        yield started


def optional_cluster(where: str | None, **options: Any) -> AbstractContextManager[Cluster | None]:
    """Return the cluster, or a block without one for None; options that are None are left out."""
    given = {name: value for name, value in options.items() if value is not None}
    if where is not None:
        return cluster(where, **given)
    if given:
        raise ConfigError(f"{', '.join(given)}: there is no cluster; name one, such as local")
    return nullcontext()


def _check_options(where: str, options: Params) -> tuple[str, ClusterOptions]:
    kind = "address" if where.startswith(SCHEMES) else where
    if kind != "address":
        pick(where, ("local", "cuda", "tcp://HOST:PORT"), "cluster")
    for name in options:
        pick(name, _OPTIONS_OF[kind], f"option of the cluster {where!r}:")
    return kind, ClusterOptions(**options)


def _check_main_guard() -> None:
    """Reject a script that each worker, which imports it, would run again."""
    file = Path(str(getattr(sys.modules["__main__"], "__file__", "")))
    if file.is_file() and "__name__" not in file.read_text("utf-8", "replace"):
        raise ConfigError(
            f"{file.name}: pipeline.cluster starts processes that import this script; put its main "
            'part below `if __name__ == "__main__":`'
        )


def dask_settings(options: ClusterOptions) -> dict[str, Any]:
    """Return Dask's settings: how soon a silent worker is lost, and that tasks stay in place.

    The model that XGBoost trains depends on which worker has which rows.
    """
    return {
        "distributed.scheduler.worker-ttl": f"{options.timeout} s",
        "distributed.scheduler.work-stealing": False,
        "distributed.comm.timeouts.connect": f"{options.timeout} s",
        "distributed.scheduler.allowed-failures": options.retries,
        # So long after a loss, Dask closes a nanny that is just then replacing the next one.
        "distributed.deploy.lost-worker-timeout": "365 days",
        "distributed.comm.timeouts.tcp": f"{max(options.timeout, TCP_LEAST)} s",
    }


def cuda_arguments(options: ClusterOptions) -> dict[str, Any]:
    """Return the arguments of `LocalCUDACluster`, one worker a GPU."""
    return {
        "n_workers": options.workers,
        "threads_per_worker": 1,
        "memory_limit": options.memory_limit,
        "enable_cudf_spill": True,
        "rmm_async": True,
        **_ADDRESSES,
    }


def _start(where: str, options: ClusterOptions, stack: ExitStack) -> Cluster:
    """Start workers, which end with the block."""
    if where == "local":
        make, cores = load("distributed.LocalCluster"), hardware.describe().cores
        n_workers = options.workers or max(1, cores // 2)
        about = f"{n_workers} worker(s) on this machine"
        arguments = {
            "n_workers": n_workers,
            "threads_per_worker": max(1, cores // n_workers),
            "memory_limit": options.memory_limit,
            **_ADDRESSES,
        }
    elif available("dask_cuda"):
        make, arguments = load("dask_cuda.LocalCUDACluster"), cuda_arguments(options)
        about = "the GPU workers on this machine"
    else:
        raise ConfigError(
            f"dask-cuda is not installed; {to_install('dask-cuda')} on a machine with a GPU"
        )
    with _without_interrupts():
        workers = make(**arguments)

    def close() -> None:
        with suppress(TimeoutError):  # Workers that are slow to end are being killed.
            workers.close()

    stack.callback(close)
    return Cluster(stack.enter_context(load("distributed.Client")(workers)), options, about)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C, which a terminal sends to all processes, from those that start in the block.

    Later ones too, as in the place of one that ended: they have the mask of the thread that starts
    them, which has that of this one. Windows has no such masks.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # As it starts, it takes the block off the thread.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _connect(where: str, options: ClusterOptions, stack: ExitStack) -> Cluster:
    wanted = options.workers or 1
    try:
        client = stack.enter_context(load("distributed.Client")(where, timeout=options.timeout))
        client.wait_for_workers(wanted, timeout=options.timeout)
    except (OSError, TimeoutError) as error:
        raise ClusterUnavailable(
            f"{where}: no scheduler with {wanted} worker(s) responded within "
            f"{options.timeout:g} s; start `dask scheduler` and `dask worker` there "
            "(docs/cluster.md)"
        ) from error
    return Cluster(client, options, f"the workers of {where}")
