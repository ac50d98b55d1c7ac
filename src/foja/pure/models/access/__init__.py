"""The pure part of access: scopes and principals."""
