"""Tasks made of real tables beside programs written by hand: ``make bench-tables``."""
