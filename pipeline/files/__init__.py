"""Files of tables: their formats, and how their cells are read."""
