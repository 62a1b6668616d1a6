"""Measure, and renew the thresholds and the parity of twins: ``python -m tools.calibrate``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pipeline.backends import intelex, parity
from pipeline.benchmark.task import pick
from pipeline.errors import ConfigError, PipelineError
from pipeline.optional import available
from pipeline.planning import choose
from pipeline.planning.choose import Family, Measured, Thresholds
from pipeline.planning.source_code import code
from pipeline.system import devices, gpu, hardware
from tools.calibrate import twins
from tools.calibrate.families import TRIALS
from tools.calibrate.timing import Limits, Say, on_cpu, on_gpu, tell

LEAST = 3
"""Points of a law in rows and columns."""


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibrate", description=__doc__)
    parser.add_argument("--out", type=Path, default=choose.PATH, help="file to renew")
    parser.add_argument("--families", default=",".join(TRIALS), help="with commas")
    parser.add_argument(
        "--no-twins", action="store_true", help="leave what is known of scikit-learn-intelex"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="longest run aimed at")
    parser.add_argument(
        "--forget-gpu", action="store_true", help="drop GPU times that cannot be renewed here"
    )
    return parser.parse_args()


def this_machine() -> str:
    """Return the processor and the GPU in words."""
    here = hardware.describe()
    name = f"{here.cpu}, {here.cores} cores"
    return name if devices.obstacle() else f"{name}, {gpu.probe().devices[0].name}"


def renewed(family: Family, limits: Limits, say: Say) -> Family:
    """Return a family with new times; on a GPU too where there is one."""
    trial = TRIALS[family.name]
    here, today = this_machine(), datetime.now(UTC).date().isoformat()
    points = on_cpu(trial, limits, say)
    if len(points) < LEAST:
        raise ConfigError(f"{family.name}: {len(points)} sizes are no law; give more --seconds")
    cpu = Measured(machine=here, date=today, points=points)
    times = None
    if not devices.obstacle():
        try:
            found = on_gpu(trial, points, limits, say)
            times = Measured(machine=here, date=today, points=found)
        except PipelineError as error:
            say(f"cuda  stays assumed: {error}")
    return msgspec.structs.replace(family, pipeline=code(trial.pipeline), cpu=cpu, gpu=times)


def calibrate(
    known: Thresholds, names: list[str], limits: Limits, *, forget_gpu: bool, say: Say
) -> Iterator[Thresholds]:
    """Return the thresholds after each family that is renewed.

    Raises
    ------
    ConfigError
        A name is unknown, or GPU times would be lost.
    """
    for name in names:
        pick(name, TRIALS, "family")
    lost = [each.name for each in known.families if each.name in names and each.gpu]
    if lost and devices.obstacle() and not forget_gpu:
        raise ConfigError(
            f"the GPU times of {', '.join(lost)} would be lost and there is no usable GPU here "
            f"({devices.obstacle()}); run this where there is one, or say --forget-gpu"
        )
    families = list(known.families)
    for position, family in enumerate(families):
        if family.name in names:
            say(family.name)
            families[position] = renewed(family, limits, say)
            yield msgspec.structs.replace(known, families=list(families))


def main() -> int:
    """Measure and write; return the exit code."""
    given = arguments()
    names, limits = given.families.split(","), Limits(seconds=given.seconds)
    try:
        known = choose.load(given.out)
        every = calibrate(known, names, limits, forget_gpu=given.forget_gpu, say=tell)
        for found in every:
            given.out.write_bytes(choose.dumps(found))
    except PipelineError as error:
        print(f"[calibrate] {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("[calibrate] interrupted; what was finished is written", file=sys.stderr)
        return 130
    if devices.obstacle():
        tell(f"[calibrate] {devices.obstacle()}: what a GPU is worth stays assumed")
    if not given.no_twins:
        _twins()
    return 0


def _twins() -> None:
    if not available(intelex.MODULE):
        tell(f"[calibrate] {intelex.PACKAGE} is not installed: what is known of it stays")
        return
    tell(intelex.PACKAGE)
    parity.PATH.write_bytes(parity.dumps(twins.record(tell)))


if __name__ == "__main__":
    sys.exit(main())
