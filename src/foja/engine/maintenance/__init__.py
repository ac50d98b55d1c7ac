"""What no caller waits for: sweep, seal, number, sign, publish, and the chores of the domains."""
