"""Commands for the operator of an installation: backup, restore, migrate, psql, signing keys, tsa."""
