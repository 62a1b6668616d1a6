"""What to know of a table, its split and its scores before a score is believed."""
