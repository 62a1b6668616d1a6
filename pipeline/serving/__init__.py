"""Models as folders: saved whole or not at all, checked before they are read, never pickled."""
