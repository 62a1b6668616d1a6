"""What became of the calls of a script, for each line that calls."""

from __future__ import annotations

import sys
from dataclasses import dataclass

_OURS = ("pipeline", "sklearn", "xgboost", "joblib", "contextlib", "functools", "threading")
_SUMMED = ("seconds", "to_device_bytes", "to_host_bytes", "plain_seconds")
PLAIN = "plain"
_MOST, _LONGEST = 1_000, 120
"""Sites with reasons of their own, and characters of a reason."""


@dataclass
class Site:
    """The calls of one method from one line that went the same way; or one such call."""

    where: str
    """``"script.py:12"``."""
    what: str
    """``"Pipeline.fit"``."""
    ran: str = PLAIN
    """"cpu", "cuda" or "cuda, cpu": where the engine ran; "plain" for scikit-learn itself."""
    why: str = ""
    """Why scikit-learn ran it, or steps of it."""
    n: int = 0
    """The number of calls."""
    seconds: float = 0.0
    """Their time, in total."""
    to_device_bytes: int = 0
    to_host_bytes: int = 0
    """Bytes copied to the device and back, in total."""
    plain_seconds: float = 0.0
    """The time of the same calls in plain scikit-learn, with ``verify``."""
    n_differ: int = 0
    """The number of calls whose results differ from plain scikit-learn's, with ``verify``."""
    differs: str = ""
    """What differed first."""


_SITES: dict[tuple[str, str, str, str], Site] = {}


def sites() -> list[Site]:
    """Return the sites since `install`, in the order of their first calls."""
    return list(_SITES.values())


def forget() -> None:
    """Begin anew."""
    _SITES.clear()


def note(call: Site) -> None:
    """Add a call to the site of the line outside of scikit-learn that has made it."""
    why = call.why.partition("\n")[0][:_LONGEST] if len(_SITES) < _MOST else "and others"
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        frame = frame.f_back
    key = f"{frame.f_code.co_filename}:{frame.f_lineno}", call.what, call.ran, why
    site = _SITES.setdefault(key, Site(*key))
    for name in _SUMMED:
        setattr(site, name, getattr(site, name) + getattr(call, name))
    site.n += 1
    site.n_differ += bool(call.differs)
    site.differs = site.differs or call.differs
