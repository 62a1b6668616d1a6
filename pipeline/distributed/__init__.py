"""Dask clusters: starting them, waiting for them, and retrying work on them."""
