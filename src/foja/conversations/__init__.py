"""Conversations of people and agents: messages, tools, approvals."""

from foja.conversations.reading import order

__all__ = ["order"]
