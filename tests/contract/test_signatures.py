"""Signatures survive the way through text."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.contract.signatures import UNKNOWN, describe, parse

TEXTS = [
    "()",
    "(self, /, a, b=None, *args, c=1, d=..., **kwargs)",
    "(x, /, out=None, *, casting='same_kind', dtype=None)",
    "(self, *, how=('left', 'right'))",
]


class Compiled:
    """Callable without a signature, as compiled methods are."""

    def __init__(self, docstring: str) -> None:
        self.__doc__ = docstring
        self.__signature__ = ...

    def __call__(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_signature_are_equivalent(text: str) -> None:
    assert str(parse(text)).replace("Ellipsis", "...") == text


def test_annotations_and_sentinels_are_left_out() -> None:
    sentinel = object()

    def function(a: int, b: Any = sentinel, c: str = "x") -> float:
        return 0.0

    assert describe(function) == "(a, b=..., c='x')"
    assert parse(describe(function)).parameters["b"].default is ...


@pytest.mark.parametrize(
    ("docstring", "text"),
    [
        ("isnan(x, /, out=None, \\*, dtype=None)\n\nMore.", "(x, /, out=None, *, dtype=None)"),
        ("_base.astype(self, dtype, order='K') -> _base", "(self, dtype, order='K')"),
        ("Says nothing.", UNKNOWN),
        ("broken(a, =1)", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_compiled_function_is_read_from_its_docstring(docstring: str, text: str) -> None:
    assert describe(Compiled(docstring)) == text


def test_parsed_signature_binds() -> None:
    signature = parse("(a, b=1, *, c=None)")
    assert signature.bind(0, c=2).arguments == {"a": 0, "c": 2}
    with pytest.raises(TypeError):
        signature.bind(0, d=1)
    assert signature.parameters["c"].kind is inspect.Parameter.KEYWORD_ONLY
