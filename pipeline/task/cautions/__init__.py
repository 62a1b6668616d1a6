"""What to know about a table, its split and its scores before you believe a score."""
