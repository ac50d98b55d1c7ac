"""The truth: append, slots, read, follow, sequencer. PostgreSQL is its only home."""
