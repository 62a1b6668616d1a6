"""What to predict from which table, and how it is scored."""
