"""Blocks of rows, and the tables and matrices that they are read from and written to."""
