"""The OpenAI Agents SDK: a session whose items are the events of a conversation."""

from foja.extras import needs

with needs("foja.integrations.openai_agents", "openai-agents"):
    from foja.integrations.openai_agents.session import LedgerSession, conversation_id

__all__ = ["LedgerSession", "conversation_id"]
