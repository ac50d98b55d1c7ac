"""Pure: what a part's last success and last failure say about it now."""
