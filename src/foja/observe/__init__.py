"""The eyes: they look at what is recorded and never change it."""
