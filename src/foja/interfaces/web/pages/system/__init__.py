"""The pages of those who operate an installation: anchors, hygiene, ledger, alerts, access."""
