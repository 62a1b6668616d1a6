"""Tables: read, converted to frames and matrices, and checked against a schema."""
