"""LangGraph: a checkpointer whose threads are streams of the ledger."""

from foja.friends.langgraph.saver import LedgerSaver

__all__ = ["LedgerSaver"]
