"""Python values as JSON and arrays, and back; nothing in a file is ever run.

JSON's own values stand for themselves; every other value is an object with one member,
whose name, beginning with ``@``, says what it is. Arrays of numbers, dates and text go
into a table of their own (`numpy.lib.format` writes them) and are referred to by name.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector

from pipeline.backends.xgboost import deprecated
from pipeline.errors import ConfigError, DataError
from pipeline.serving import allowlist
from pipeline.typing import Estimator

Document = Any
"""What JSON can say: None, bool, int, float, str, list, and dict with text for keys."""

_PLAIN = "biufcmMUS"
"""Kinds of arrays that are kept as they are in memory."""
_JSON_INT = 2**53


class Encoder:
    """Makes documents of values, and collects their arrays.

    Attributes
    ----------
    arrays : dict of str to numpy.ndarray

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode((1, np.array([2.0])), "example")
    {'@tuple': [1, {'@array': 'a0'}]}
    >>> Decoder(encoder.arrays).decode({"@tuple": [1, {"@array": "a0"}]})
    (1, array([2.]))
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: Any, where: str) -> Document:
        """Return the document of a value.

        Parameters
        ----------
        value : object
        where : str
            Path of the value, for messages.

        Raises
        ------
        ConfigError
            The value, or one inside it, is on no list of what can be kept without pickle.
        """
        if value is None or type(value) in (bool, str):
            return value
        for kind, encode in self._ENCODERS:
            if isinstance(value, kind):
                return encode(self, value, where)
        return self._named(value, where)

    def _int(self, value: int, where: str) -> Document:
        return value if -_JSON_INT < value < _JSON_INT else {"@int": str(value)}

    def _float(self, value: float, where: str) -> Document:
        return value if np.isfinite(value) else {"@float": repr(value)}

    def _list(self, value: list[Any], where: str) -> Document:
        return [self.encode(each, f"{where}[{i}]") for i, each in enumerate(value)]

    def _tuple(self, value: tuple[Any, ...], where: str) -> Document:
        if type(value) is not tuple:
            raise _unkept(value, where)
        return {"@tuple": self._list(list(value), where)}

    def _set(self, value: set[Any] | frozenset[Any], where: str) -> Document:
        name = "@set" if isinstance(value, set) else "@frozenset"
        return {name: self._list(sorted(value, key=repr), where)}

    def _dict(self, value: Mapping[Any, Any], where: str) -> Document:
        return {"@dict": self.pairs(value, where)}

    def pairs(self, value: Mapping[Any, Any], where: str) -> list[Document]:
        """Return the entries of a mapping as a list of two each."""
        return [
            [self.encode(k, where), self.encode(each, f"{where}.{k}")] for k, each in value.items()
        ]

    def _array(self, value: np.ndarray, where: str) -> Document:
        if value.dtype.kind in _PLAIN:
            name = f"a{len(self.arrays)}"
            self.arrays[name] = np.asarray(value)
            return {"@array": name}
        if value.dtype != object:
            raise _unkept(value, where)
        return {"@objects": [list(value.shape), self._list(value.ravel().tolist(), where)]}

    def _generic(self, value: np.generic, where: str) -> Document:
        return {"@scalar": self._array(np.asarray(value), where)["@array"]}

    def _date(self, value: datetime.date, where: str) -> Document:
        if type(value) is not datetime.date:
            raise _unkept(value, where)
        return {"@date": value.isoformat()}

    def _slice(self, value: slice, where: str) -> Document:
        return {"@slice": self._list([value.start, value.stop, value.step], where)}

    def _spline(self, value: BSpline, where: str) -> Document:
        parts = [value.t, value.c, int(value.k), value.extrapolate, int(value.axis)]
        return {"@spline": self._list(parts, where)}

    def _random(self, value: np.random.RandomState, where: str) -> Document:
        return {"@random_state": self._dict(value.get_state(legacy=False), where)}

    def _selector(self, value: make_column_selector, where: str) -> Document:
        return {"@selector": self.pairs(vars(value), where)}

    def _estimator(self, value: BaseEstimator, where: str) -> Document:
        name = allowlist.name_of(value)
        if name is None:
            raise _unkept(value, where)
        params = value.get_params(deep=False)
        if "memory" in params:  # a folder of the machine that trained
            params["memory"] = None
        state = {k: v for k, v in vars(value).items() if k not in params}
        return {"@estimator": [name, self.pairs(params, where), self.pairs(state, where)]}

    def _named(self, value: Any, where: str) -> Document:
        if value is pd.NA:
            return {"@missing": "NA"}
        if value is pd.NaT:
            return {"@missing": "NaT"}
        if isinstance(value, np.dtype) and value.kind in _PLAIN + "O":
            return {"@dtype": value.str}
        for tag, name in (
            ("@type", allowlist.name_of_type(value)),
            ("@function", allowlist.name_of_function(value)),
        ):
            if name is not None:
                return {tag: name}
        if type(value).__name__ in allowlist.SPLITTERS:
            kind = type(value).__name__
            if allowlist.splitter(kind) is type(value):
                return {"@splitter": [kind, self.pairs(vars(value), where)]}
        raise _unkept(value, where)

    _ENCODERS: tuple[tuple[Any, Callable[..., Document]], ...] = (
        (np.ndarray, _array),
        (np.generic, _generic),
        (int, _int),
        (float, _float),
        (list, _list),
        (tuple, _tuple),
        ((set, frozenset), _set),
        (dict, _dict),
        (datetime.date, _date),
        (slice, _slice),
        (BSpline, _spline),
        (np.random.RandomState, _random),
        (make_column_selector, _selector),
        (BaseEstimator, _estimator),
    )


def _unkept(value: Any, where: str) -> ConfigError:
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    module = getattr(value, "__module__", None) or type(value).__module__
    return ConfigError(
        f"{where}: {module}.{name} cannot be saved without pickle; a model file holds estimators "
        "of scikit-learn and XGBoost, numbers, text, arrays and NumPy's ufuncs: change the step, "
        "or keep `to_sklearn()` in a way of your own"
    )


class Decoder:
    """Makes values of documents.

    Parameters
    ----------
    arrays : mapping of str to numpy.ndarray
        What the documents refer to.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays

    def decode(self, document: Document) -> Any:
        """Return the value of a document.

        Raises
        ------
        DataError
            It is not one that `Encoder` makes.
        """
        if document is None or isinstance(document, bool | int | float | str):
            return document
        if isinstance(document, list):
            return [self.decode(each) for each in document]
        if not isinstance(document, dict) or len(document) != 1:
            raise DataError(f"not a value: {str(document)[:80]}")
        ((tag, inner),) = document.items()
        decode = self._DECODERS.get(tag)
        if decode is None:
            raise DataError(f"{str(tag)[:80]!r} is no kind of value")
        try:
            return decode(self, inner)
        except DataError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise DataError(f"not a {tag[1:]}: {error}") from error

    def mapping(self, pairs: Any) -> dict[Any, Any]:
        """Return the mapping that `Encoder.pairs` made a list of."""
        return {self.decode(name): self.decode(value) for name, value in pairs}

    def _array(self, name: str) -> np.ndarray:
        if name not in self.arrays:
            raise DataError(f"there is no array {str(name)[:80]!r}")
        return self.arrays[name]

    def _objects(self, inner: Estimator) -> np.ndarray:
        shape, values = inner
        made = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            made[i] = self.decode(value)
        return made.reshape([int(n) for n in shape])

    def _scalar(self, name: str) -> Any:
        return self._array(name)[()]

    def _spline(self, inner: Estimator) -> BSpline:
        t, c, k, extrapolate, axis = self.decode(inner)
        return BSpline(t, c, k, extrapolate=extrapolate, axis=axis)

    def _random(self, inner: Estimator) -> np.random.RandomState:
        made = np.random.RandomState()
        made.set_state(self.decode(inner))
        return made

    def _selector(self, inner: Estimator) -> make_column_selector:
        made = make_column_selector()
        vars(made).update(self._known(inner, {"pattern", "dtype_include", "dtype_exclude"}))
        return made

    def _splitter(self, inner: Estimator) -> Any:
        name, pairs = inner
        made: Any = object.__new__(allowlist.splitter(name))
        vars(made).update(self.mapping(pairs))
        return made

    def _estimator(self, inner: Estimator) -> BaseEstimator:
        name, params, state = inner
        kind = allowlist.estimator(name)
        with deprecated.heard():
            made = kind(**self.mapping(params))
        held = self.mapping(state)
        # A value with the name of a method would be called in its place.
        shadows = [key for key in held if callable(getattr(kind, str(key), None))]
        if shadows:
            raise DataError(f"{name} has no state {shadows}")
        vars(made).update(held)
        return made

    def _known(self, pairs: Any, names: set[str]) -> dict[Any, Any]:
        held = self.mapping(pairs)
        if set(held) != names:
            raise DataError(f"the members are not {sorted(names)}")
        return held

    _DECODERS: Mapping[str, Callable[..., Any]] = {
        "@array": _array,
        "@objects": _objects,
        "@scalar": _scalar,
        "@spline": _spline,
        "@random_state": _random,
        "@selector": _selector,
        "@splitter": _splitter,
        "@estimator": _estimator,
        "@int": lambda self, text: int(text),
        "@float": lambda self, text: float(text),
        "@tuple": lambda self, inner: tuple(self.decode(inner)),
        "@set": lambda self, inner: set(self.decode(inner)),
        "@frozenset": lambda self, inner: frozenset(self.decode(inner)),
        "@dict": mapping,
        "@date": lambda self, text: datetime.date.fromisoformat(text),
        "@slice": lambda self, inner: slice(*self.decode(inner)),
        "@dtype": lambda self, text: np.dtype(str(text)),
        "@missing": lambda self, text: {"NA": pd.NA, "NaT": pd.NaT}[text],
        "@type": lambda self, name: allowlist.scalar_type(name),
        "@function": lambda self, name: allowlist.function(name),
    }
