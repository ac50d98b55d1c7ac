"""Conversations of people and agents: messages, tools, approvals."""

from foja.conversations.reading import order
from foja.conversations.view import View, reduce

__all__ = ["View", "order", "reduce"]
