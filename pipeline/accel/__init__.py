"""Unmodified scikit-learn scripts and notebooks, accelerated: ``.venv/bin/python -m pipeline accel SCRIPT``.

In a script, `install` does the same for what follows, and `uninstall` ends it.
"""

from pipeline.accel.call_table import calls as calls
from pipeline.accel.patches import install as install
from pipeline.accel.patches import uninstall as uninstall
