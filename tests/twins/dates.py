"""The same times in every form that a column of dates has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

ROWS = 150
ZONE = "America/New_York"
_rng = np.random.default_rng(0)
_start, _end = (pd.Timestamp(day).value for day in ("1899-01-01", "2101-01-01"))
# Milliseconds, so that every unit but the second holds them.
_whole = pd.Series((_rng.integers(_start, _end, ROWS) // 10**6 * 10**6).view("datetime64[ns]"))
TIMES = _whole.mask(pd.Series(_rng.random(ROWS) < 0.2))
_seconds = TIMES.dt.floor("s")
_zoned = TIMES.dt.tz_localize("UTC").dt.tz_convert(ZONE)

FORMS = {
    "ns": TIMES,
    "us": TIMES.astype("datetime64[us]"),
    "ms": TIMES.astype("datetime64[ms]"),
    "s": _seconds.astype("datetime64[s]"),
    "none missing": _whole,
    "all missing": TIMES.mask(TIMES.notna()),
    "zone": _zoned,
    "zone, us": _zoned.astype(f"datetime64[us, {ZONE}]"),
    "arrow": TIMES.astype("datetime64[us]").astype(pd.ArrowDtype(pa.timestamp("us"))),
    # pandas 3.0 writes 1970 in the place of NaT into what it converts here.
    "arrow, ns": TIMES.copy().astype(pd.ArrowDtype(pa.timestamp("ns"))),
    "arrow, zone": _zoned.copy().astype(pd.ArrowDtype(pa.timestamp("ns", tz=ZONE))),
}
"""Name -> column."""

CLOCKS = {
    name: _zoned.dt.tz_localize(None) if "zone" in name else times.astype("datetime64[ns]")
    for name, times in FORMS.items()
}
"""What the clock on the wall says, as pandas reads it."""


def frame(form: str, n_rows: int = ROWS) -> pd.DataFrame:
    """Return a table of one column, named for its form."""
    return pd.DataFrame({form: FORMS[form]})[:n_rows]
