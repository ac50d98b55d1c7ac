"""The log: its head, and the checkpoints that networks confirmed."""

from __future__ import annotations

from pydantic import Field

from foja.web.reference.answers.answer import Answer


class LogAnswer(Answer):
    """The newest published checkpoint of the log."""

    origin: str
    size: int
    root: str = Field(description="Base64")
    key: str = Field(description="the public key of the log; trust it only from another source")
    checkpoint: str = Field(description="the signed note (c2sp.org/tlog-checkpoint)")


class AnchoredItem(Answer):
    """A checkpoint that a network confirmed."""

    log: str
    origin: int | None
    size: int
    network: str
    sha256: str
    batch: str
    confirmed_at: str
    confirmed: bool = Field(description="false: a reorganisation took it back")
    note: str | None
    proof: str | None = Field(description="Base64, in the format of the network's tools")
    trust: list[str]


class AnchoredList(Answer):
    """Anchored checkpoints, the smallest first."""

    anchored: list[AnchoredItem]


class TrustRoots(Answer):
    """This installation's own trust roots, as `/v1/verify` takes them."""

    trust: list[str]
