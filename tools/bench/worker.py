"""A process for one variant of one case, which runs whenever it is told to.

``python -m tools.bench.worker JOB`` answers each line of its input with a line of
JSON, and ends with its input. A process that is started by its name inherits no
memory, so its peak is its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TextIO

import msgspec

from pipeline.benchmark.worker import WorkerFailed
from tools.bench.rss import give_back
from tools.bench.work import Answer, Ask, Job, answer

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """A process that runs one job again and again.

    Parameters
    ----------
    job : Job

    Examples
    --------
    ``with Worker(job) as worker: worker.run()`` returns an `Answer` a call.
    """

    def __init__(self, job: Job) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.bench.worker", msgspec.json.encode(job).decode()],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C ends the parent, which ends its workers itself.
            start_new_session=True,
        )

    def __enter__(self) -> Worker:
        """Return the worker."""
        return self

    def __exit__(self, *exc: object) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.communicate()

    def run(self, ask: Ask = Ask()) -> Answer:  # noqa: B008
        """Run the job once.

        Raises
        ------
        WorkerFailed
            The run failed, or the process is gone; the message says why.
        """
        try:
            line = self._exchange(msgspec.json.encode(ask).decode())
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerFailed(f"the process ended with exit code {self._process.wait()}")
        found = msgspec.json.decode(line, type=Answer)
        if found.why:
            raise WorkerFailed(found.why)
        return found

    def _exchange(self, line: str) -> str:
        channel, answers = self._process.stdin, self._process.stdout
        assert channel is not None
        assert answers is not None
        channel.write(line + "\n")
        channel.flush()
        return answers.readline()


def serve(job: Job, questions: TextIO, answers: TextIO) -> None:
    """Answer each question with what was measured, or with an error in words."""
    for line in questions:
        try:
            found = answer(job, msgspec.json.decode(line, type=Ask))
        except Exception as error:
            found = Answer(why=f"{type(error).__name__}: {error}")
        answers.write(msgspec.json.encode(found).decode() + "\n")
        answers.flush()
        # The next worker's turn: what this one no longer needs would only be in its way.
        give_back()


def main() -> None:
    """Serve the job on the command line."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    # What a library prints must not be taken for an answer.
    os.dup2(2, 1)
    serve(msgspec.json.decode(sys.argv[1], type=Job), sys.stdin, answers)


if __name__ == "__main__":
    main()
