"""Unmodified scikit-learn scripts and notebooks, accelerated; the command is `accel`.

In a script, `install` does the same for what follows, and `uninstall` ends it.
"""

from pipeline.accel.call_table import calls as calls
from pipeline.accel.patches import install as install
from pipeline.accel.patches import uninstall as uninstall
