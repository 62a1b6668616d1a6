"""Tasks: one short file each, run as ``.venv/bin/python -m pipeline run NAME``."""
