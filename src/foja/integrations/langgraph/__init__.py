"""LangGraph: a checkpointer whose threads are streams of the ledger."""

from foja.extras import needs

with needs("foja.integrations.langgraph", "langgraph"):
    from foja.integrations.langgraph.saver import LedgerSaver

__all__ = ["LedgerSaver"]
