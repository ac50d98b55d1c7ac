"""A monitor's signed statement about the head of one stream: what it found in a log that it reads whole.

It is a signed note (c2sp.org/signed-note). The key of a monitor has a kind of its own, so no key of a log or
of a cosigner can be taken for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from uuid import UUID

from foja.errors import Tampered
from foja.pure.core.note import Checkpoint, Signer, Verifier, parse_checkpoint, split_note

HEADER = "foja/monitor/v1"
_LINES = re.compile(
    "stream ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\n"
    "events ([1-9][0-9]{0,17})\nhead ([0-9a-f]{64})\ntime (0|[1-9][0-9]{0,10})\n"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MonitorKey(Verifier):
    """The name and the public key of a monitor. As text it differs from the key of a log."""

    ALGORITHM: ClassVar[bytes] = b"\xfffoja/monitor"  # C2SP leaves 0xff and a name to others
    USE: ClassVar[str] = "the Ed25519 key of a monitor"


@dataclass(frozen=True, slots=True)
class MonitorSigner(Signer):
    """The name and the private key of a monitor; never printed."""

    def verifier(self) -> MonitorKey:
        """Return the public key."""
        return MonitorKey(self.name, self._key().public_key().public_bytes_raw())


@dataclass(frozen=True, slots=True)
class MonitorStatement:
    """The log at this checkpoint has each number of the stream once, and the last one has this hash."""

    checkpoint: Checkpoint
    entity_id: UUID
    events: int
    head: bytes
    time: int  # seconds since 1970, by the monitor's clock

    def text(self) -> str:
        """Return the text to sign."""
        fields = (("stream", self.entity_id), ("events", self.events), ("head", self.head.hex()))
        lines = "".join(f"{name} {value}\n" for name, value in (*fields, ("time", self.time)))
        return f"{HEADER}\n{self.checkpoint.text()}{lines}"

    @property
    def moment(self) -> datetime:
        """The time of the statement."""
        return _EPOCH + timedelta(seconds=self.time)


def parse_monitor_statement(data: bytes) -> MonitorStatement:
    """Return the statement in a note, or raise `Tampered`; no signature is checked."""
    lines = split_note(data)[0].split("\n", 4)
    found = _LINES.fullmatch(lines[-1]) if len(lines) == 5 and lines[0] == HEADER else None
    if found is None:
        raise Tampered(f"this is not a monitor's statement: {HEADER}, a checkpoint, and four more lines")
    entity_id, events, digest, time = found.groups()
    checkpoint = parse_checkpoint("\n".join([*lines[1:4], ""]))
    return MonitorStatement(checkpoint, UUID(entity_id), int(events), bytes.fromhex(digest), int(time))
