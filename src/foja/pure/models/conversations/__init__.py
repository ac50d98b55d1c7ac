"""Pure part of conversations: event kinds, reading order, pairs, approvals, view."""
