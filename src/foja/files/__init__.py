"""The files that a person names: how they are opened and read."""
