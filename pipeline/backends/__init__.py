"""Which implementation runs an estimator on a device: a row or a few lines each."""
