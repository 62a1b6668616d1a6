"""XGBoost: in memory, in batches, on a cluster, from a checkpoint."""
