"""Tasks, and runs and comparisons of them: what is measured, what is said of it, the report."""
