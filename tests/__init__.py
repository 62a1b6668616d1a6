"""The tests; a package, so that none of another name is imported in its place."""
