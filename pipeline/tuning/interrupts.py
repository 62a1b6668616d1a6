"""Ctrl-C during a search: it ends a wait at once, and never what is being written down."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Result = TypeVar("Result")


class Interrupts:
    """Ctrl-C, held back but for where `allowed` lets it through.

    Attributes
    ----------
    pressed : bool
        Whether it was pressed, or a fit has raised `KeyboardInterrupt`.
    """

    def __init__(self) -> None:
        self.pressed = self._let_through = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it back, in the main thread, where Python's own handler is in charge."""
        main = threading.current_thread() is threading.main_thread()
        if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def allowed(self, wait: Callable[[], list[Result]]) -> list[Result]:
        """Return what a function returns; nothing where Ctrl-C ends it."""
        try:
            self._let_through = True
            if not self.pressed:
                return wait()
        except KeyboardInterrupt:
            self.pressed = True
        finally:
            self._let_through = False
        return []

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if self._let_through:
            raise KeyboardInterrupt
