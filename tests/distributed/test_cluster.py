from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

import pipeline
from pipeline.distributed import cluster as clusters
from pipeline.distributed import retry
from pipeline.distributed.cluster import ClusterOptions, active, cuda_arguments
from pipeline.errors import ClusterUnavailable, ConfigError
from tests.clusters import in_process

pytest.importorskip("distributed")
delayed = pytest.importorskip("dask").delayed
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed")
ROOT = Path(__file__).parents[2]


def listening() -> list[tuple[str, int]]:
    """Return the addresses that this process and its children listen on, from the system."""
    me = psutil.Process()
    every = (p.net_connections(kind="inet") for p in [me, *me.children(recursive=True)])
    return [tuple(c.laddr) for found in every for c in found if c.status == psutil.CONN_LISTEN]


@pytest.mark.slow
def test_only_loopback_is_listened_on() -> None:
    before = set(listening())
    with pipeline.cluster("local", workers=2) as cluster:
        found = set(listening()) - before
        assert len(cluster.workers()) == 2
        assert len(found) >= 4, "the scheduler, its pages, and two workers"
        assert {host for host, _ in found} == {"127.0.0.1"}
        assert active() is cluster
    assert active() is None
    assert set(listening()) <= before


def gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


WAITS = """
import time, pipeline
if __name__ == "__main__":
    with pipeline.cluster("local", workers=2):
        print("up", flush=True)
        time.sleep(120)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_process(number: int, tmp_path: Path) -> None:
    script = tmp_path / "waits.py"
    script.write_text(WAITS)
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    children = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    if number == signal.SIGINT:  # a terminal sends it to all
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    process.wait(timeout=30)
    process.stdout.close()
    assert len(children) >= 2
    assert [pid for pid in children if not gone_within(pid, 30)] == []


@pytest.mark.parametrize(
    ("where", "options", "said"),
    [
        (
            "locl",
            {},
            r"unknown cluster 'locl'; did you mean 'local'\? Choose from: cuda, local, tcp://HOST",
        ),
        (
            "local",
            {"worker": 2},
            r"cluster 'local': 'worker'; did you mean 'workers'\? Choose from: memory_limit",
        ),
        ("local", {"rmm_pool_size": 1}, "option of the cluster .*: 'rmm_pool_size'"),
        (
            "cuda",
            {"protocol": "ucx"},
            "option of the cluster .*: 'protocol'; choose from: memory_limit, retries",
        ),
        (
            "tcp://127.0.0.1:1",
            {"memory_limit": 1},
            "option of the cluster .*: 'memory_limit'; choose from: timeout, workers",
        ),
        ("local", {"workers": 0}, "1 or more"),
        ("local", {"timeout": 0}, "timeout=0"),
        ("local", {"retries": -1}, "retries=-1"),
    ],
)
def test_what_no_cluster_can_have_is_refused(where: str, options: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said), pipeline.cluster(where, **options):
        pass


@pytest.mark.parametrize(
    ("source", "refused"),
    [(WAITS, False), (WAITS.replace("__name__ == ", "1 or "), True), (None, False)],
    ids=["guarded", "bare", "no file"],
)
def test_a_script_that_its_workers_would_run_again_is_refused(
    source: str | None, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "mine.py"
    if source:
        script.write_text(source)
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__=str(script)))
    monkeypatch.setattr(clusters, "_start", lambda *_: clusters.Cluster(None))
    said = r"mine\.py: pipeline\.cluster starts processes.*below `if __name__"
    with (
        pytest.raises(ConfigError, match=said) if refused else nullcontext(),
        pipeline.cluster("local"),
    ):
        pass


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_an_error_in_time() -> None:
    start = time.monotonic()
    with (
        pytest.raises(ClusterUnavailable, match="tcp://127.0.0.1:9: no scheduler with 1 worker"),
        pipeline.cluster("tcp://127.0.0.1:9", timeout=2),
    ):
        pass
    assert time.monotonic() - start < 20


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Return the address of a scheduler, and the processes: a worker and it."""
    file = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(file), "--host", "127.0.0.1"]
    options = [
        ["worker", *common, "--nthreads", "1", "--no-dashboard", "--local-directory", tmp_path],
        ["scheduler", *common, "--port", "0", "--dashboard-address", "127.0.0.1:0"],
    ]
    made = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *rest],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT,
        )
        for kind, *rest in options
    ]  # fmt: skip
    try:
        yield wait_for_address(file), made
    finally:
        for process in made:
            process.terminate()
            process.wait(timeout=30)


@pytest.mark.slow
def test_a_scheduler_of_the_users_own_is_used_and_its_loss_is_an_error_in_time(apart: Any) -> None:
    address, (worker, scheduler) = apart
    error = f"scheduler of .*{address} is lost"
    with pipeline.cluster(address, timeout=30) as cluster:
        assert len(cluster.workers()) == 1
        assert cluster.client.submit(os.getpid).result() != os.getpid()
    assert [process.poll() for process in (worker, scheduler)] == [None, None]
    with pipeline.cluster(address, timeout=8) as cluster:
        scheduler.send_signal(signal.SIGSTOP)
        with pytest.raises(ClusterUnavailable, match=error):
            replace(cluster, options=ClusterOptions(timeout=0.5)).workers()
        scheduler.send_signal(signal.SIGCONT)
        assert len(cluster.workers()) == 1
        scheduler.kill()
        start = time.monotonic()
        with pytest.raises(ClusterUnavailable, match=error):
            retry.gather(cluster, cluster.client.compute([delayed(os.getpid)()]))
        assert time.monotonic() - start < 40


def wait_for_address(file: Path) -> str:
    for _ in range(600):
        if file.exists() and file.read_text():
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.05)
    raise AssertionError("no scheduler")


def test_a_client_of_the_users_own_counts() -> None:
    with in_process(1) as client:
        found = active()
        assert found is not None
        assert found.client is client
    assert active() is None


@pytest.mark.contract_live
def test_dask_cuda_knows_every_argument() -> None:
    dask_cuda = pytest.importorskip("dask_cuda")
    from distributed import LocalCluster

    known = set(inspect.signature(dask_cuda.LocalCUDACluster.__init__).parameters)
    passed_on = set(inspect.signature(LocalCluster.__init__).parameters)
    assert set(cuda_arguments(ClusterOptions())) <= known | passed_on - {"kwargs"}
