"""The claims of the docs, measured: ``.venv/bin/python -m tools.bench NAME``.

A claim has cases, variants that are compared on each of them, and targets. `runner` measures it,
`record` is what is kept, and `report` writes tables of that.
"""
