"""A LangGraph agent with its state in a ledger: it stops to ask, and continues in another process.

    pip install 'foja[langgraph]'
    python examples/langgraph_agent.py

The nodes are plain functions, so no model and no network are needed.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

import foja
from foja.integrations.langgraph import LedgerSaver

THREAD: RunnableConfig = {"configurable": {"thread_id": "example"}}


class State(TypedDict):
    """The agent's state."""

    messages: Annotated[list[AnyMessage], add_messages]


def write(state: State) -> dict[str, Any]:
    """Draft a letter."""
    return {"messages": [AIMessage(f"Dear {state['messages'][-1].content}, all is well.")]}


def send(state: State) -> dict[str, Any]:
    """Ask a person before sending."""
    answer = interrupt(f"may I send it? “{state['messages'][-1].content}”")
    return {"messages": [AIMessage("sent" if answer == "yes" else "kept")]}


def agent(saver: LedgerSaver) -> Any:
    """Return the graph: write, then send."""
    graph = StateGraph(State)
    graph.add_node("write", write)
    graph.add_node("send", send)
    graph.add_edge(START, "write")
    graph.add_edge("write", "send")
    graph.add_edge("send", END)
    return graph.compile(checkpointer=saver)


async def main() -> None:
    """Run until the agent asks; answer as if from another process; show what was stored."""
    async with foja.connect() as app:
        await LedgerSaver(app).adelete_thread("example")  # this example may have run before
        paused = await agent(LedgerSaver(app)).ainvoke({"messages": [HumanMessage("Ana")]}, THREAD)
        print(paused["__interrupt__"][0].value)

        # A new saver has no state of its own: it reads everything from the ledger.
        done = await agent(LedgerSaver(app)).ainvoke(Command(resume="yes"), THREAD)
        print(done["messages"][-1].content)

        events = await app.ledger.events(app.threads.stream_of("example"), None, 10_000)
        stored = [event for event in events if event.payload and event.kind != "body.erased"]
        print(f"\nthe thread holds {len(stored)} events:")
        for event in stored:
            print(f"{event.seq:4}  {event.kind:18} {sorted(event.payload.get('values', {}))}")

        await LedgerSaver(app).aprune(["example"])
        found = await LedgerSaver(app).aget_tuple(THREAD)
        assert found
        texts = [message.content for message in found.checkpoint["channel_values"]["messages"]]
        print(f"\nafter pruning, one complete checkpoint is left: {texts}")


if __name__ == "__main__":
    asyncio.run(main())
