"""Pure part of conversations: event kinds, reading order, pairing, approvals, view."""
