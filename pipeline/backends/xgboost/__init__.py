"""xgboost."""
