from __future__ import annotations

import pytest

from pipeline import errors
from pipeline.errors import Reason, Unsupported

CODES = {
    "PipelineError": (70, Exception),
    "Refused": (70, ValueError),
    "ConfigError": (2, ValueError),
    "DataError": (65, ValueError),
    "DeviceUnavailable": (69, RuntimeError),
    "BudgetExceeded": (2, RuntimeError),
    "CheckpointDiffers": (65, ValueError),
    "OutOfMemory": (71, MemoryError),
    "ClusterUnavailable": (69, OSError),
    "WorkerLost": (71, RuntimeError),
    "ParityError": (65, ValueError),
    "OutputError": (73, OSError),
    "OutputLocked": (75, Exception),
    "Unsupported": (2, ValueError),
}


@pytest.mark.parametrize("name", CODES)
def test_errors_have_their_exit_code_and_builtin_base(name: str) -> None:
    error = getattr(errors, name)
    assert issubclass(error, errors.PipelineError)
    assert (error.exit_code, issubclass(error, CODES[name][1])) == (CODES[name][0], True)


def test_the_table_names_every_error() -> None:
    kinds = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert {name for name in kinds if issubclass(getattr(errors, name), Exception)} == set(CODES)


def test_unsupported_keeps_all_reasons_as_data() -> None:
    reasons = Reason("a", "x"), Reason("b", "y", parameter="p")
    error = Unsupported(*reasons)
    assert error.reasons == reasons
    assert str(error) == "a: x\nb(p): y"
