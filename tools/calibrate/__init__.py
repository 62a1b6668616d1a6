"""Renew what the advice and the twins on the CPU rest on, by measuring this machine.

``python -m tools.calibrate`` times every family of algorithms on growing tables, on the CPU and,
where there is one, on the GPU. Without a GPU no threshold is called measured.
"""
