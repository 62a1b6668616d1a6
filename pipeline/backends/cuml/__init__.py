"""Estimators of cuML: which, with which parameters, on one GPU or many."""
