"""Conversations of people and agents: messages, tools, approvals."""

from foja.pure.models.conversations.order import order
from foja.pure.models.conversations.view import ConversationView, reduce

__all__ = ["ConversationView", "order", "reduce"]
