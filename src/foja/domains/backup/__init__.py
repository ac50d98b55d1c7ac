"""Backups: an installation as one archive, and back again. docs/backup.md has the format."""
