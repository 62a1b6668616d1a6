"""What only a GPU can show, in stages: ``make gpu-proof``."""
