"""Checks of the ledger that only read: audit, fsck, gauges."""
