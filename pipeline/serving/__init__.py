"""Models as folders: saved completely or not at all, checked before they are read, no pickles."""
