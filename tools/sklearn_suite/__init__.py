"""scikit-learn's own tests, run with our classes in the places of its own."""
