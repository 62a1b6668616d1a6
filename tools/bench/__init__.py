"""Preprocessing alone, measured beside scikit-learn, skrub and Polars.

``python -m tools.bench`` makes ``docs/results/preprocessing-cpu``; what is measured,
and how, is in ``docs/benchmarks.md``.
"""
