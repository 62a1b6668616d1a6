"""Tasks: one short file each, run as ``python -m pipeline run NAME``."""
