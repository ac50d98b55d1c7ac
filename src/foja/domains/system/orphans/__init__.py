"""Orphans: objects that nothing refers to are found, left alone for some time, and purged."""
