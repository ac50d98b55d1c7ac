"""The key of a checkpoint, and a cache of where the values of recent ones are stored."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TypeAlias

from langchain_core.runnables import RunnableConfig

from foja.engine.ledger.reader import BodyRow
from foja.errors import Refused
from foja.integrations.langgraph.values import StoredValue

MAX_ENTRIES = 128
Channels: TypeAlias = dict[str, StoredValue]


@dataclass(frozen=True, slots=True)
class CheckpointKey:
    """Names a checkpoint in a namespace of a thread; without an id, the latest."""

    thread_id: str
    ns: str
    checkpoint_id: str | None

    def at(self, checkpoint_id: str) -> CheckpointKey:
        """Return the key of another checkpoint of the same namespace."""
        return replace(self, checkpoint_id=checkpoint_id)

    @property
    def config(self) -> RunnableConfig:
        """The key as a config of LangGraph."""
        named = {"thread_id": self.thread_id, "checkpoint_ns": self.ns, "checkpoint_id": self.checkpoint_id}
        return {"configurable": named}


def place_of(config: RunnableConfig) -> CheckpointKey:
    """Return the checkpoint that a config names."""
    named = config["configurable"]
    if "thread_id" not in named:
        raise Refused("the config has no thread id; set config['configurable']['thread_id']")
    return CheckpointKey(str(named["thread_id"]), named.get("checkpoint_ns", ""), named.get("checkpoint_id"))


class CheckpointCache:
    """Where values are stored, for the latest checkpoint of recently used namespaces.

    A missing entry is read from the ledger again.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, str], tuple[str | None, Channels, BodyRow | None]] = OrderedDict()

    def put(self, place: CheckpointKey, held: Channels, row: BodyRow | None = None) -> None:
        """Store a checkpoint in place of the previous one, with its event if that was read."""
        self._last[place.thread_id, place.ns] = place.checkpoint_id, held, row
        self._last.move_to_end((place.thread_id, place.ns))
        if len(self._last) > MAX_ENTRIES:
            self._last.popitem(last=False)

    def find(self, place: CheckpointKey) -> Channels | None:
        """Return where the values of exactly this checkpoint are stored, or None."""
        checkpoint_id, held, _ = self._last.get((place.thread_id, place.ns), (None, None, None))
        return held if checkpoint_id == place.checkpoint_id else None

    def row(self, place: CheckpointKey) -> BodyRow | None:
        """Return the event of exactly this checkpoint, or None."""
        checkpoint_id, _, row = self._last.get((place.thread_id, place.ns), (None, None, None))
        return row if checkpoint_id == place.checkpoint_id else None

    def clear(self) -> None:
        """Remove every entry, because an event was erased."""
        self._last.clear()
