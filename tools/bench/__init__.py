"""What the docs claim, measured as comparisons are: ``.venv/bin/python -m tools.bench NAME``.

A claim is a table of data: its cases, its variants, what is read off them, and the targets.
`claim` runs all of them, `record` is what they write, and `report` makes tables of that.
"""
