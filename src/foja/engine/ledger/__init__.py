"""The ledger: append, slots, read, follow, sequencer. PostgreSQL is the only source of truth."""
