"""Which calls are outermost: those that no other call of scikit-learn has made."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_NESTED: ContextVar[bool] = ContextVar("nested", default=False)


is_nested = _NESTED.get
"""Return whether a call of a scikit-learn object is under way."""


class nested:  # noqa: N801 - a context manager, as a class because it is fast
    """Let the calls inside be no outermost ones."""

    def __enter__(self) -> None:
        """Begin."""
        self._token = _NESTED.set(True)

    def __exit__(self, *error: object) -> None:
        """End."""
        _NESTED.reset(self._token)


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
