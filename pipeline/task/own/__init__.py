"""A task for your own table."""
