"""cuml."""
