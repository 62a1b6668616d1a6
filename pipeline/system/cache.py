"""Values that are computed once and kept for the next use, up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import RLock
from typing import Any
from weakref import WeakSet


class Cache:
    """What was made, by key; where room is short, the least recently used goes first.

    All values together hold at most `room_bytes`; one that holds more by itself is not kept. They
    lie on one device, see `empty`. Threads may share it.

    >>> cache = Cache(8)
    >>> for key in ("a", "b", "c"):
    ...     cache.put(key, key.encode() * 4, 4)
    >>> cache.get("a"), cache.get("c"), cache.held_bytes
    (None, b'cccc', 8)
    """

    def __init__(self, room_bytes: int, device: str = "cpu") -> None:
        self.room_bytes, self.device = room_bytes, device
        self.held_bytes = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = RLock()
        _CACHES.add(self)

    def get(self, key: Hashable) -> Any:
        """Return a value, which is the most recently used one now; None where there is none."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Any, n_bytes: int) -> None:
        """Keep a value of some bytes, and drop others for it."""
        if n_bytes > self.room_bytes:
            return
        with self._lock:
            self.held_bytes -= self._values.pop(key, (None, 0))[1]
            while self.held_bytes + n_bytes > self.room_bytes:
                _, (_, freed) = self._values.popitem(last=False)
                self.held_bytes -= freed
            self._values[key] = value, n_bytes
            self.held_bytes += n_bytes

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._values.clear()
            self.held_bytes = 0


_CACHES: WeakSet[Cache] = WeakSet()


def empty(device: str) -> None:
    """Keep nothing any more on a device, whose memory is needed."""
    for cache in list(_CACHES):
        if cache.device == device:
            cache.clear()
