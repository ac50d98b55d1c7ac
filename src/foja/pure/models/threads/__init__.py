"""Pure part of threads: event kinds and derived ids."""
