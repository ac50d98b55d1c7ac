"""The rules of alerts: no clock, no database, no network."""
