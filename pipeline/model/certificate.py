"""How far the predictions of a lifted model are from those of the model on its device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
from scipy.sparse import issparse

from pipeline.errors import ConfigError, ParityError
from pipeline.table.partitioned import densify


class Difference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a result of the lifted model is from that on the device, for one method."""

    method: str
    differing: float
    """Share of the rows with a value that is not close, 0 to 1."""
    largest: float | None
    """Largest absolute difference of two numbers; None for labels."""
    row: int
    """The row of X where it is largest."""
    holds: bool
    failure: str = ""
    """Why there was nothing to compare: what the lifted model raises, or another shape."""

    def __str__(self) -> str:
        """One line."""
        if self.failure:
            return f"{self.method}: the lifted model {self.failure}"
        verdict = "agrees" if self.holds else "differs"
        far = "" if self.largest is None else f", by at most {self.largest:.3g} (row {self.row})"
        return f"{self.method} {verdict}: {self.differing:.2%} of the rows differ{far}"


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was compared, with which tolerance, and whether it agrees."""

    device: str
    rows: int
    passed: str
    """The type of the rows that the lifted model was given."""
    rtol: float
    atol: float
    differing: float
    differences: list[Difference]
    packages: dict[str, str]

    @property
    def holds(self) -> bool:
        """Whether each method agrees within the tolerance."""
        return all(each.holds for each in self.differences)

    def require(self) -> Certificate:
        """Return the certificate if it holds.

        Raises
        ------
        ParityError
            It does not; the message names the method, the row and the difference.
        """
        for each in self.differences:
            if not each.holds:
                raise ParityError(
                    f"{each}; compared with {self.device!r} on {self.rows:,} rows, passed as "
                    f"{self.passed}, with rtol={self.rtol:g}, atol={self.atol:g} and differing="
                    f"{self.differing:g}; keep the model on its device, pass rows in a form that "
                    "scikit-learn supports, or pass a wider tolerance"
                )
        return self

    def __repr__(self) -> str:
        """One line per method."""
        return "\n".join(map(str, self.differences))

    __str__ = __repr__


def certify(
    ours: Mapping[str, Any],
    lifted: Callable[[str], Any],
    n_rows: int,
    tolerance: Mapping[str, float],
) -> list[Difference]:
    """Compare the results of a model on its device with those of the lifted model.

    `ours` are results by method, on the host. Labels have the type object, even numbers, as they
    are equal or not. `lifted` returns the result of a method of the lifted model; `tolerance` has
    ``rtol``, ``atol`` and ``differing``, as in `Accelerated.certify`. `ConfigError` says that there
    is nothing to compare, or that a tolerance is out of range.
    """
    for name, value in tolerance.items():
        if not 0 <= value < (1 if name == "differing" else np.inf):
            valid = "a share below 1" if name == "differing" else "0 or a positive number"
            raise ConfigError(f"{name}={value!r} is out of range; pass {valid}")
    if not ours or not n_rows:
        raise ConfigError(
            f"nothing to compare: {n_rows} rows, methods {[*ours]}; pass rows, and use "
            "an estimator that can predict new ones"
        )
    return [_compare(method, made, lifted, n_rows, tolerance) for method, made in ours.items()]


def _compare(
    method: str,
    ours: Any,
    lifted: Callable[[str], Any],
    n_rows: int,
    tolerance: Mapping[str, float],
) -> Difference:
    ours, failure = _matrix(ours, n_rows), ""
    try:
        theirs = _matrix(lifted(method), n_rows)
        if ours.shape != theirs.shape:
            failure = f"returns the shape {theirs.shape}, not {ours.shape}"
    except Exception as error:  # whatever it is, the lifted model predicts nothing
        failure = f"raises {type(error).__name__}: {error}"
    if failure:
        return Difference(
            method=method, differing=1.0, largest=None, row=0, holds=False, failure=failure
        )
    numbers = ours.dtype.kind in "iubf"
    if numbers:
        ours, theirs = ours.astype("float64"), theirs.astype("float64")
        close = np.isclose(ours, theirs, tolerance["rtol"], tolerance["atol"], equal_nan=True)
        with np.errstate(invalid="ignore"):
            apart = np.abs(ours - theirs)
        # A number and NaN are infinitely far apart, two infinities of one sign are not.
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        apart = np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
    else:
        close = ours == theirs
        apart = (~close).astype("float64")
    differing = 1 - float(close.all(axis=1).mean())
    return Difference(
        method=method,
        differing=differing,
        largest=float(apart.max(initial=0.0)) if numbers else None,
        row=int(apart.max(axis=1, initial=0.0).argmax()),
        holds=differing <= tolerance["differing"],
    )


def _matrix(answer: Any, n_rows: int) -> np.ndarray:
    """Return an answer as dense rows; each target of several is a column, or several."""
    if isinstance(answer, list):
        return np.hstack([_matrix(each, n_rows) for each in answer])
    if issparse(answer):
        return np.asarray(densify(answer, "certificate", "all values are compared"))
    return np.asarray(answer).reshape(n_rows, -1)
