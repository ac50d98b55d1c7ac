"""LangGraph: a checkpointer whose threads are streams of the ledger."""

from foja.integrations.langgraph.saver import LedgerSaver

__all__ = ["LedgerSaver"]
