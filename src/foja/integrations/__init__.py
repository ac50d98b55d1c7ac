"""Integrations: each package adapts one library, and only it imports that library."""
