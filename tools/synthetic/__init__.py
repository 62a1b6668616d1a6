"""Measurements of the generated tables: how near a model comes, and what writing takes."""
