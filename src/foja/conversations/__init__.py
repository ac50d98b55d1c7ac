"""Conversations of people and agents: messages, tools, approvals."""

from foja.conversations.model.order import order
from foja.conversations.model.view import ConversationView, reduce

__all__ = ["ConversationView", "order", "reduce"]
