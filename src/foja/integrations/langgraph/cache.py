"""Which checkpoint a config means, and where the values of the last few are held."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TypeAlias

from langchain_core.runnables import RunnableConfig

from foja.errors import Refused
from foja.integrations.langgraph.values import Held

MAX_ENTRIES = 128
Channels: TypeAlias = dict[str, Held]


@dataclass(frozen=True, slots=True)
class CheckpointKey:
    """A checkpoint of a namespace of a thread; without an id, the latest."""

    thread_id: str
    ns: str
    checkpoint_id: str | None

    def at(self, checkpoint_id: str) -> CheckpointKey:
        """Return another checkpoint of the same namespace."""
        return replace(self, checkpoint_id=checkpoint_id)

    @property
    def config(self) -> RunnableConfig:
        """The place as LangGraph writes it."""
        named = {"thread_id": self.thread_id, "checkpoint_ns": self.ns, "checkpoint_id": self.checkpoint_id}
        return {"configurable": named}


def place_of(config: RunnableConfig) -> CheckpointKey:
    """Return what a config names."""
    named = config["configurable"]
    if "thread_id" not in named:
        raise Refused("the config names no thread; set config['configurable']['thread_id']")
    return CheckpointKey(str(named["thread_id"]), named.get("checkpoint_ns", ""), named.get("checkpoint_id"))


class CheckpointCache:
    """Where values are held, for the latest checkpoint of each of a few namespaces.

    Only a shortcut: what is not here is read again.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, str], tuple[str | None, Channels]] = OrderedDict()

    def keep(self, place: CheckpointKey, held: Channels) -> None:
        """Remember a checkpoint instead of the one before."""
        self._last[place.thread_id, place.ns] = place.checkpoint_id, held
        self._last.move_to_end((place.thread_id, place.ns))
        if len(self._last) > MAX_ENTRIES:
            self._last.popitem(last=False)

    def find(self, place: CheckpointKey) -> Channels | None:
        """Return where the values of this very checkpoint are, if it is remembered."""
        checkpoint_id, held = self._last.get((place.thread_id, place.ns), (None, None))
        return held if checkpoint_id == place.checkpoint_id else None

    def forget(self) -> None:
        """Remember nothing: something was erased."""
        self._last.clear()
