"""The parsers of verbs that run an installation: servers, jobs, access, alerts, webhooks, clean-up."""
