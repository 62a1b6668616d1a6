"""The report of a comparison, derived from its record alone."""
