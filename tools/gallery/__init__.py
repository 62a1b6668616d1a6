"""How many steps of the pipelines in scikit-learn's examples a GPU runs, by `explain`."""
