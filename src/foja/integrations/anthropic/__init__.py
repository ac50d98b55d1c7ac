"""Anthropic: a message stream into a conversation, and the conversation into the next request."""

from foja.integrations.anthropic.messages import messages
from foja.integrations.anthropic.recorder import RecordedMessage, Tool, record

__all__ = ["RecordedMessage", "Tool", "messages", "record"]
