"""The methods of cuML's estimators that our rules use."""

from __future__ import annotations

LEARNING = ("fit", "fit_predict", "fit_transform", "partial_fit")
ASKING = (
    "decision_function",
    "kneighbors",
    "predict",
    "predict_log_proba",
    "predict_proba",
    "radius_neighbors_graph",
    "score",
    "score_samples",
    "transform",
)
