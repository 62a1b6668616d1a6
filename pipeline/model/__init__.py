"""`Accelerated`: an estimator by scikit-learn's conventions that runs a plan."""
