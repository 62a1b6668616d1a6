"""A cache keeps what is used, within its room."""

from __future__ import annotations

from pipeline.system.cache import Cache, empty


def test_the_least_recently_used_goes_first() -> None:
    cache = Cache(10)
    for name in "abc":
        cache.put(name, name.upper(), 3)
    assert cache.get("a") == "A"
    cache.put("d", "D", 3)
    assert [cache.get(name) for name in "abcd"] == ["A", None, "C", "D"]
    assert cache.held_bytes == 9


def test_what_is_too_large_is_not_kept_and_moves_nothing() -> None:
    cache = Cache(4)
    cache.put("a", "A", 4)
    cache.put("b", "B", 5)
    assert (cache.get("a"), cache.get("b"), cache.held_bytes) == ("A", None, 4)


def test_a_device_is_emptied_when_its_memory_is_needed() -> None:
    here, there = Cache(4), Cache(4, "cuda")
    for cache in (here, there):
        cache.put("a", "A", 3)
    empty("cuda")
    assert (here.get("a"), there.get("a"), there.held_bytes) == ("A", None, 0)
