"""Which calls are outermost: those that no other call of scikit-learn has made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_NESTED: ContextVar[bool] = ContextVar("nested", default=False)


def is_nested() -> bool:
    """Return whether a call of a scikit-learn object is under way."""
    return _NESTED.get()


@contextmanager
def nested() -> Iterator[None]:
    """Let the calls inside be no outermost ones."""
    token = _NESTED.set(True)
    try:
        yield
    finally:
        _NESTED.reset(token)


def carried(wrapper: Any) -> dict[str, Callable[..., Any]]:
    """Return methods of scikit-learn's wrapper of delayed calls that take this along.

    A thread of joblib starts with an empty context.
    """
    hand, call = wrapper.with_config_and_warning_filters, wrapper.__call__

    def with_config_and_warning_filters(self: Any, *args: Any) -> Any:
        self.nested = is_nested()
        return hand(self, *args)

    def __call__(self: Any, *args: Any, **params: Any) -> Any:  # noqa: N807
        if not getattr(self, "nested", False):
            return call(self, *args, **params)
        with nested():
            return call(self, *args, **params)

    return {
        "with_config_and_warning_filters": with_config_and_warning_filters,
        "__call__": __call__,
    }
