"""The events of keyed requests. Pure."""
