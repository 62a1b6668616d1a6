"""Preprocessing that runs where the table lives.

One code path for NumPy and CuPy: a table becomes blocks of rows, each twin of
a scikit-learn transformer is fitted by a mergeable statistic over the blocks,
and one pass writes the output matrix.
"""
