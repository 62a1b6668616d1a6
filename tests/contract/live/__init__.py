"""What the stand-ins and our tables say of RAPIDS, held to the installed packages; no GPU needed.

A release that changes one of these facts fails here: then a stand-in lies, and what our code does
about it may be fixed or dropped.
"""
