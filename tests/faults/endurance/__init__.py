"""A whole installation that runs for long while one fault after the other is brought about."""
