"""The questions of ``questions.toml``, each asked in a process of its own.

This needs the standard library alone, so that a machine without cuDF answers what CuPy answers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from pipeline.system import gpu, hardware
from tools.gpu_proof import process

QUESTIONS: dict[str, dict[str, str]]
QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text())
MARK = "answer: "
MOST_SECONDS = 60.0


def ask(name: str) -> Any:
    """Ask a question here."""
    known: dict[str, Any] = {"after_a_killed_worker": after_a_killed_worker}
    exec(QUESTIONS[name]["ask"], known)  # noqa: S102  # our own lines
    return known["answer"]


def after_a_killed_worker(protocol: str) -> list[Any]:
    """Return whether a cluster of one GPU has another worker after a kill, and the seconds."""
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    with (
        LocalCUDACluster(CUDA_VISIBLE_DEVICES="0", protocol=protocol) as cluster,
        Client(cluster) as client,
    ):
        first = client.submit(os.getpid, pure=False).result(timeout=30)
        os.kill(first, signal.SIGKILL)
        start = time.perf_counter()
        second = client.submit(os.getpid, pure=False).result(timeout=20)
        return [first != second, time.perf_counter() - start]


def answers() -> Iterator[dict[str, Any]]:
    """Yield each question with what was found, or with why nothing was."""
    no_gpu = gpu.why_unusable(gpu.probe(), os.environ)
    for name, question in QUESTIONS.items():
        start = time.perf_counter()
        found, why = (None, f"could not be asked: {no_gpu}") if no_gpu else asked(name)
        answer = {"question": name, "expected": question["expected"], "found": found, "why": why}
        yield {**answer, "seconds": round(time.perf_counter() - start, 3)}


def asked(name: str) -> tuple[str | None, str]:
    """Return what another process answers, or why it did not."""
    with tempfile.TemporaryFile() as output:
        words = ["python", "-m", "tools.gpu_proof.probe", "--ask", name]
        code = process.run(words, output, MOST_SECONDS)
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    found = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    if found:
        return found[-1], ""
    return None, "; ".join([process.said(code), *lines[-3:]])


def fingerprint() -> dict[str, Any]:
    """Return the hardware, the driver and the versions of all packages."""
    installed = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    return {
        "machine": asdict(hardware.describe()),
        "gpu": asdict(gpu.probe()),
        "python": platform.python_version(),
        "packages": dict(sorted(installed.items())),
    }


def main() -> None:
    """Ask one question here, or all of them in processes; write after each what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--ask", choices=QUESTIONS)
    given = parser.parse_args()
    if given.ask:
        print(f"{MARK}{ask(given.ask)!r}", flush=True)
        return
    record: dict[str, Any] = {**fingerprint(), "answers": []}
    for answer in answers():
        record["answers"].append(answer)
        given.out.write_text(json.dumps(record, indent=2))
        print(f"{answer['question']}: {answer['found'] or answer['why']}", flush=True)


if __name__ == "__main__":
    main()
