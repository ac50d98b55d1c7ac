"""Alerts: one table of rules, for Prometheus, for Grafana and for the built-in evaluation."""
