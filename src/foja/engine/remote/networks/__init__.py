"""Clients of the networks that keep digests: Polygon, Bitcoin with its calendars, Rekor."""
