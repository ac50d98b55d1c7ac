"""Commands for the operator of an installation: backup, restore, psql, signing keys."""
