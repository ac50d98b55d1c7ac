"""Documents: protect, timestamp, anchor, seal. The executor decides from the history; workers execute."""
