"""What only a GPU can show, in stages: ``python -m tools.gpu_proof``, or ``make gpu-proof``."""
