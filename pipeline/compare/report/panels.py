"""The panels of the report, in the order of every form of it."""

from __future__ import annotations

PANELS = {
    "verdict": "Verdict",
    "speed": "Speed",
    "stages": "Stages",
    "scaling": "How time grows with the rows",
    "placement": "Where each step ran",
    "quality": "Quality side by side",
    "memory": "Memory, processors, energy and cost",
    "machine": "Machine and fairness",
    "history": "Earlier records",
    "reproduce": "How to reproduce",
    "code": "The specs' code",
}
"""Anchor -> heading."""
