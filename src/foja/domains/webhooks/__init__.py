"""Webhooks: addresses that are told of events, signed, in the order of the log, at least once."""
