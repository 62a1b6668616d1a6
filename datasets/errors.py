"""What can go wrong while a dataset is prepared, with the exit code it ends with.

The codes follow ``sysexits.h``, as those of the pipeline do; any caller may use
the `exit_code` of whatever it catches.
"""

from __future__ import annotations


class DataError(Exception):
    """A source or a prepared file that is missing, damaged, or not the expected one."""

    exit_code = 65


class OutputError(Exception):
    """The dataset cannot be written: disk full, read-only folder, a file in the way."""

    exit_code = 73


class UnknownDataset(LookupError):
    """No dataset has this name."""

    exit_code = 2
