"""A task made of a table of your own."""
