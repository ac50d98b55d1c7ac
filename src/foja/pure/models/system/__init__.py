"""The pure part of the domain `system`."""
