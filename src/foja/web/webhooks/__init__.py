"""HTTP routes of webhooks."""
