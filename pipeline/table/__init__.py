"""Tables: read, converted to frames and matrices, held to a schema."""
