"""The pure part of each package, under its name: events, rules, views."""
