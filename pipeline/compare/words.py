"""Names and numbers in the words of the report."""

from __future__ import annotations


def on_gpu(device: str) -> bool:
    """Tell whether a device's name is that of a GPU.

    Examples
    --------
    >>> on_gpu("cuda:0"), on_gpu("cpu")
    (True, False)
    """
    return device.lower().startswith(("cuda", "gpu"))


def times(factor: float) -> str:
    """Write a factor with three significant digits.

    Examples
    --------
    >>> times(2.314), times(0.4307), times(123.4)
    ('2.31×', '0.431×', '123×')
    """
    decimals = 3 if factor < 1 else 2 if factor < 10 else 1 if factor < 100 else 0
    return f"{factor:.{decimals}f}×"
