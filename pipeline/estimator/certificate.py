"""That a lifted model answers as the device did: measured, and kept as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from scipy.sparse import csr_matrix, issparse

from pipeline import notebook
from pipeline.errors import ConfigError, ParityError
from pipeline.typing import Estimator, Table


@dataclass(frozen=True)
class Tolerance:
    """How far apart two answers may be.

    Parameters
    ----------
    rtol, atol : float
        Two numbers agree if they differ by at most ``atol + rtol * abs(lifted)``; two labels
        agree if they are equal.
    differing : float
        Share of rows that may hold a value that does not agree: a number that rounds to the
        other side of a tree's threshold goes another way.
    """

    rtol: float = 1e-4
    atol: float = 1e-5
    differing: float = 1e-3

    def __post_init__(self) -> None:
        """Refuse what bounds nothing."""
        for name, most in (("rtol", np.inf), ("atol", np.inf), ("differing", 1)):
            value = getattr(self, name)
            if not 0 <= value < most:
                raise ConfigError(f"{name}={value!r} is not from 0 to {most}")


class MethodAgreement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One method's answers, the device's beside the lifted model's."""

    method: str
    differing: float
    """Share of the rows with a value that does not agree, 0 to 1."""
    largest: float | None
    """Largest absolute difference of two numbers; None for labels."""
    row: int
    """Where the difference is largest, or the first that does not agree; counted in X."""
    holds: bool
    failure: str | None = None
    """What the lifted model does in place of an answer that could be compared."""

    def describe(self, device: str, rows: int) -> str:
        """Return how the answers differ, as part of a sentence."""
        if self.failure is not None:
            return self.failure
        far = "" if self.largest is None else f", the largest by {self.largest:.3g}"
        return (
            f"answers otherwise than the one on {device!r} in {self.differing:.2%} of {rows:,} "
            f"rows{far} (row {self.row})"
        )


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was compared, how closely, and whether it holds; `msgspec.json.encode` takes it."""

    created: str
    """ISO 8601, UTC."""
    device: str
    rows: int
    passed: str
    """What the lifted model was given: the form of the rows."""
    rtol: float
    atol: float
    differing: float
    packages: dict[str, str]
    agreements: list[MethodAgreement]
    left_out: dict[str, str]
    """Method -> why the device does not answer it, so that there was nothing to compare."""

    @property
    def holds(self) -> bool:
        """Whether each method agrees within the tolerance."""
        return all(each.holds for each in self.agreements)

    def require(self) -> Certificate:
        """Return the certificate if it holds.

        Raises
        ------
        ParityError
            It does not; the message names the method, the row and the difference.
        """
        for each in self.agreements:
            if not each.holds:
                raise ParityError(
                    f"{each.method}: the lifted model {each.describe(self.device, self.rows)}, and "
                    f"{self.differing:.2%} may differ by more than rtol={self.rtol:g}, atol="
                    f"{self.atol:g} (given: {self.passed}); keep the model on its device, pass "
                    "rows as scikit-learn takes them, or state a wider tolerance"
                )
        return self

    def __repr__(self) -> str:
        """One line per method."""
        lines = [self._line(each) for each in self.agreements]
        return "\n".join([*lines, *(f"{m:18} left out: {why}" for m, why in self.left_out.items())])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        columns = ("Method", "Verdict", "Rows that differ", "Largest difference", "Remarks")
        rows = [*map(self._row, self.agreements)]
        rows += [(method, "left out", "", "", why) for method, why in self.left_out.items()]
        holds = "answers" if self.holds else "does not answer"
        about = f"{self.rows:,} rows, given as {self.passed}; at most {self.differing:.2%} may "
        about += f"differ by more than rtol={self.rtol:g}, atol={self.atol:g}"
        return notebook.render_parts(
            f"The lifted model {holds} as the one on {self.device!r} does",
            notebook.Lines([about]),
            notebook.HtmlTable(columns, rows, numbers=columns[2:4]),
        )

    def _row(self, each: MethodAgreement) -> tuple[str, ...]:
        if each.failure is not None:
            return each.method, "fails", "", "", each.failure
        far = "" if each.largest is None else f"{each.largest:.3g}"
        where = "" if each.holds else f"first in row {each.row}"
        agrees = "agrees" if each.holds else "differs"
        return each.method, agrees, f"{each.differing:.3%}", far, where

    def _line(self, each: MethodAgreement) -> str:
        if each.failure is not None:
            return f"{each.method:18} FAILS    {each.failure}"
        far = "" if each.largest is None else f", at most by {each.largest:.3g}"
        agrees = "agrees" if each.holds else "DIFFERS"
        return (
            f"{each.method:18} {agrees:8} {each.differing:8.3%} of {self.rows:,} rows differ{far}"
        )


def answer_all(lifted: Estimator, methods: Iterable[str], X: Table) -> dict[str, Any]:
    """Return what a lifted model answers by method, or the exception that it raises."""
    answers: dict[str, Any] = {}
    for method in methods:
        try:
            answers[method] = getattr(lifted, method)(X)
        except Exception as error:  # whatever it is, the lifted model gives no answer
            answers[method] = error
    return answers


def compare_answers(
    answers: Mapping[str, Any],
    lifted: Mapping[str, Any],
    rows: np.ndarray,
    tolerance: Tolerance,
) -> list[MethodAgreement]:
    """Compare the answers of a model on a device with those of the lifted one.

    Parameters
    ----------
    answers : mapping of str to object
        By method, on the host.
    lifted : mapping of str to object
        Those of the lifted model, or the exceptions that it raises.
    rows : numpy.ndarray of int
        Where the rows of the answers lie in the table of the caller.
    tolerance : Tolerance

    Raises
    ------
    ConfigError
        There is nothing to compare.
    """
    if not answers or not len(rows):
        raise ConfigError(
            f"nothing to compare: {len(rows)} rows, methods {[*answers]}; a "
            "certificate needs rows, and an estimator that answers for new ones"
        )
    return [
        _agreement(method, answer, lifted[method], rows, tolerance)
        for method, answer in answers.items()
    ]


def _agreement(
    method: str, ours: Any, lifted: Estimator, rows: np.ndarray, tolerance: Tolerance
) -> MethodAgreement:
    if isinstance(lifted, Exception):
        return _failure(method, f"raises {type(lifted).__name__}: {lifted}", rows)
    ours, lifted = _matrix(ours, len(rows)), _matrix(lifted, len(rows))
    if ours.shape != lifted.shape:
        why = f"answers in the shape {lifted.shape}, not {ours.shape}"
        return _failure(method, why, rows)
    at, ours, lifted = _cells(ours, lifted)
    numbers = ours.dtype.kind == "f" or (ours.dtype.kind in "iub" and method != "predict")
    if numbers:
        close = np.isclose(ours, lifted, tolerance.rtol, tolerance.atol, equal_nan=True)
        apart = _apart(ours.astype("float64"), lifted.astype("float64"))
    else:
        close = ours == lifted
        apart = (~close).astype("float64")
    differing = len(np.unique(at[~close])) / len(rows)
    return MethodAgreement(
        method=method,
        differing=differing,
        largest=float(apart.max(initial=0.0)) if numbers else None,
        row=int(rows[at[apart.argmax()] if len(at) else 0]),
        holds=differing <= tolerance.differing,
    )


def _failure(method: str, why: str, rows: np.ndarray) -> MethodAgreement:
    first = int(rows[0])
    return MethodAgreement(
        method=method, differing=1.0, largest=None, row=first, holds=False, failure=why
    )


def _apart(ours: np.ndarray, lifted: np.ndarray) -> np.ndarray:
    """Return absolute differences: infinity from a number to NaN, none between equal infinities."""
    same = np.isclose(ours, lifted, rtol=0, atol=0, equal_nan=True)
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours - lifted)
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def _matrix(answer: Any, n_rows: int) -> Any:
    """Return an answer as rows, sparse or not; each target of several is a column, or several."""
    if isinstance(answer, list):
        return np.hstack([_matrix(each, n_rows) for each in answer])
    return answer if issparse(answer) else np.asarray(answer).reshape(n_rows, -1)


def _cells(ours: Any, lifted: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the row of each cell and the two values in it; of cells that both lack, nothing."""
    if not (issparse(ours) or issparse(lifted)):
        return np.repeat(np.arange(len(ours)), ours.shape[1]), ours.ravel(), lifted.ravel()
    ours, lifted = csr_matrix(ours), csr_matrix(lifted)
    at = (_there(ours) + _there(lifted)).nonzero()
    return at[0], _at(ours, at), _at(lifted, at)


def _there(rows: Any) -> Any:
    """Return ones where sparse rows have a value, be it NaN."""
    ones = np.ones(len(rows.data), dtype=bool)
    return csr_matrix((ones, rows.indices, rows.indptr), shape=rows.shape)


def _at(rows: Any, at: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.asarray(rows[at]).ravel()
