"""What is answered about the log: its head, its trust, and the checkpoints that networks confirmed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from foja.pure.pages import Rows


@dataclass(frozen=True, slots=True)
class LogHead:
    """The newest published checkpoint of the log."""

    origin: str
    size: int
    root: Annotated[str, "Base64"]
    key: Annotated[str, "the public key of the log; trust it only from another source"]
    checkpoint: Annotated[str, "the signed note (c2sp.org/tlog-checkpoint)"]


@dataclass(frozen=True, slots=True)
class TrustRoots(Rows[str]):
    """This installation's own trust roots, as `/v1/verify` takes them."""

    trust: list[str]


@dataclass(frozen=True, slots=True)
class Anchored:
    """A checkpoint that a network confirmed."""

    log: str
    origin: int | None
    size: int
    network: str
    sha256: str
    batch: UUID
    confirmed_at: datetime
    confirmed: Annotated[bool, "false: a reorganisation took it back"]
    note: str | None
    proof: Annotated[str | None, "Base64, in the format of the network's tools"]
    trust: list[str]


@dataclass(frozen=True, slots=True)
class AnchoredList(Rows[Anchored]):
    """Anchored checkpoints, the smallest first."""

    anchored: list[Anchored]
