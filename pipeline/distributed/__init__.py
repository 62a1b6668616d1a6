"""Dask clusters: started, waited for, retried on."""
