"""Blocks of rows, the twins' interface, and the programs that pass over a table once."""
