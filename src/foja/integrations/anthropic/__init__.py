"""Anthropic: a message stream into a conversation, and the conversation into the next request."""

from foja.integrations.anthropic.messages import messages
from foja.integrations.anthropic.recorder import Heard, Tool, record

__all__ = ["Heard", "Tool", "messages", "record"]
