"""Pure part of documents: event kinds, history, rules, lifecycle, projection, view."""
