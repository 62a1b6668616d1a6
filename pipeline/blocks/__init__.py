"""Blocks of rows, the interface of twins, the tree that they stand in, and what fits it."""
