"""What the calendars have answered about the root of a batch, as it is stored with the batch. Pure."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from foja.errors import Tampered
from foja.pure.proofs.ots.header import Header
from foja.pure.proofs.ots.timestamp import Branch, Timestamp

MAX_LOG, MAX_TEXT = 20, 300
MAX_BRANCHES = 32  # of one calendar
MAX_ASKED = 4  # promises of one calendar that are asked about


@dataclass(frozen=True, slots=True)
class Promises:
    """The timestamps of the root, by the calendar that gave them; the blocks that confirm it; the faults."""

    root: bytes
    calendars: Mapping[str, Timestamp] = field(default_factory=dict)
    expired: frozenset[str] = frozenset()  # calendars that will never have a block for it
    confirmed: Timestamp | None = None
    blocks: tuple[Header, ...] = ()
    log: tuple[str, ...] = ()  # what calendars and nodes did wrong, the newest last

    @classmethod
    def load(cls, root: bytes, state: Mapping[str, Any]) -> Promises:
        """Return what `dump` stored."""
        confirmed = state.get("timestamp") if state.get("blocks") else None
        return cls(
            root,
            {name: _parse(root, text) for name, text in state.get("calendars", {}).items()},
            frozenset(state.get("expired", ())),
            _parse(root, confirmed) if confirmed else None,
            tuple(Header(each["height"], bytes.fromhex(each["header"])) for each in state.get("blocks", ())),
            tuple(state.get("log", ())),
        )

    def dump(self) -> dict[str, Any]:
        """Return it as JSON. `timestamp` is what every proof of the batch ends with, confirmed or pending."""
        stamp = self.confirmed or self.merged
        return {
            "calendars": {name: _text(each) for name, each in sorted(self.calendars.items())},
            "expired": sorted(self.expired),
            "timestamp": _text(stamp) if stamp.branches else None,
            "blocks": [{"height": each.height, "header": each.data.hex()} for each in self.blocks],
            "log": list(self.log),
        }

    @property
    def merged(self) -> Timestamp:
        """All branches of all calendars."""
        return Timestamp(self.root, ()).merge(*self.calendars.values())

    def open(self, name: str) -> list[Branch]:
        """Return what a calendar promised, to ask about it."""
        stamp = self.calendars.get(name)
        return stamp.of_kind("pending")[:MAX_ASKED] if stamp else []

    def is_all_fulfilled(self) -> bool:
        """Return whether every promise of every calendar has led to a block, valid or not."""
        stamps = self.calendars.items()
        return all(stamp.is_fulfilled(each) for name, stamp in stamps for each in self.open(name))

    def accept(self, name: str, answer: bytes) -> Promises:
        """Return it with a calendar's first answer; one that cannot be read is logged and not kept."""
        try:
            stamp = Timestamp.parse(self.root, answer)
        except Tampered as error:
            return self.note(f"{name} answered with something else than a timestamp: {error}")
        if not stamp.of_kind("pending") and not stamp.of_kind("bitcoin"):
            return self.note(f"{name} promised nothing that leads to a Bitcoin block")
        return self._kept(name, stamp)

    def add(self, name: str, promise: Branch, answer: bytes) -> Promises:
        """Return it with a calendar's answer about a promise; one that cannot be read is logged."""
        try:
            found = Timestamp.parse(promise.attestation.message, answer)
            return self._kept(name, self.calendars[name].extend(promise, found))
        except Tampered as error:
            return self.note(f"{name} answered with something else than a timestamp: {error}")

    def note(self, *lines: str) -> Promises:
        """Return it with lines in its log; a line that is there already is not repeated."""
        short = [each[:MAX_TEXT] for each in lines]
        log = [*self.log, *(each for each in dict.fromkeys(short) if each not in self.log)]
        return replace(self, log=tuple(log[-MAX_LOG:]))

    def confirm(self, timestamp: Timestamp, blocks: Iterable[Header]) -> Promises:
        """Return it with the timestamp that is proven, and the blocks that it rests on."""
        return replace(self, confirmed=timestamp, blocks=tuple(blocks))

    def revoke(self, line: str) -> Promises:
        """Return it without its confirmation, whose block is gone."""
        return replace(self.note(line), confirmed=None, blocks=())

    def _kept(self, name: str, stamp: Timestamp) -> Promises:
        if len(stamp.branches) > MAX_BRANCHES:
            return self.note(f"{name} gave more than {MAX_BRANCHES} attestations; the newest are ignored")
        return replace(self, calendars={**self.calendars, name: stamp})


def _parse(root: bytes, text: str) -> Timestamp:
    return Timestamp.parse(root, b64decode(text))


def _text(stamp: Timestamp) -> str:
    return b64encode(stamp.encode()).decode()
