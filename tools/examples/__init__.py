"""scikit-learn's own examples, run as they are and accelerated."""
