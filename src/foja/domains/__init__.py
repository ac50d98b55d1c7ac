"""What an installation does for people. The domains do not import each other."""
