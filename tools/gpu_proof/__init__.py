"""What only a GPU can show: ``make gpu-proof``.

`hand` measures beside a program written by hand, `sizes` from which size on a GPU is worth it; each
runs in a process of its own and yields its record, whole, as it grows.
"""
