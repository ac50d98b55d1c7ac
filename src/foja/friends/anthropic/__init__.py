"""Anthropic: a message stream into a conversation, and the conversation into the next request."""

from foja.friends.anthropic.messages import messages
from foja.friends.anthropic.recording import Heard, Tool, record

__all__ = ["Heard", "Tool", "messages", "record"]
