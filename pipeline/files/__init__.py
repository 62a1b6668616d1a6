"""Files of tables: their formats, and how their values are read."""
