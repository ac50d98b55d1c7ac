"""Tenants: what one of them can use of an installation."""
