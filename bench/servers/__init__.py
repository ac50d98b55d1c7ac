"""Servers for peers that have none; each runs in a separate process."""
