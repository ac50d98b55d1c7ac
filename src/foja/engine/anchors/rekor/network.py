"""Rekor: sign a root, have the signature timestamped and recorded in a log of version 2, and prove it.

Signature and timestamp are in the state before anything is sent: the same bytes are one entry of the log.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from foja.engine.anchors.network import (
    Batch,
    Confirmed,
    Drafted,
    Place,
    Progress,
    Readiness,
    Refused,
    State,
    Waiting,
)
from foja.engine.anchors.rekor.log import LogReader, OtherKey, Uncovered
from foja.engine.embedded.signing_keys import SigningKeys, public_pem
from foja.engine.remote.networks.rekor import TIMEOUT_SECONDS, Added, Exists, Rejected, RekorClient, Slow
from foja.errors import NotCanonical, SetupFailed, Tampered, Unavailable
from foja.pure.core.bundle.record import as_reply
from foja.pure.core.note import Verifier
from foja.pure.proofs.batch import BatchPlace
from foja.pure.proofs.finding import Finding, Flaw, Status
from foja.pure.proofs.rekor import Anchors, check
from foja.pure.proofs.rekor.batched import encode_batched
from foja.pure.proofs.rekor.builder import SignedDigest, encode_bundle, recorded_entry
from foja.pure.proofs.rekor.bundle import LogEntry, parse_entry
from foja.pure.proofs.tsa import Terms

SOON, LATER = 5.0, 300.0  # seconds until the next look: at a log that is slow, or at one to be configured


@dataclass(frozen=True, slots=True)
class RekorTerms:
    """A log, the keys that sign for it, and the authority that stamps what they sign."""

    url: str = field(repr=False)
    log: Verifier  # `foja.engine.anchors.rekor.log.log_key` reads one
    keys: SigningKeys
    stamp: Callable[[bytes], Awaitable[bytes]]  # a valid token over a digest; raises `Unavailable`
    timestamps: Terms  # under which those tokens are judged
    read_url: str = field(default="", repr=False)
    timeout_seconds: float = TIMEOUT_SECONDS


class Rekor:
    """The network `rekor`: a transparency log of version 2."""

    name = "rekor"

    def __init__(self, terms: RekorTerms) -> None:
        self._terms = terms
        self._client = RekorClient(terms.url, terms.read_url, timeout_seconds=terms.timeout_seconds)
        self._reader = LogReader(self._client, terms.log)

    @property
    def account(self) -> str | None:
        """None: a log takes no payment."""
        return None

    async def check(self) -> Readiness:
        """Read the log's checkpoint and the signing key."""
        missing, found = list[str](), dict[str, Any]()
        try:
            _, checkpoint = await self._reader.checkpoint()
            found |= {"log": checkpoint.origin, "size": checkpoint.size, "key": self._terms.log.vkey()}
        except (Unavailable, OtherKey, Flaw, Tampered) as error:
            missing.append(str(error))
        try:
            found["signing_key"] = self._terms.keys.current().id
        except SetupFailed as error:
            missing.append(str(error))
        return Readiness(missing, found)

    async def draft(self, root: bytes, nonce: int | None) -> Drafted:
        """Sign the root, and have the signature timestamped. Nothing is sent to the log."""
        key = self._terms.keys.current()
        signature = key.sign(root)
        token = await self._terms.stamp(sha256(signature).digest())
        state = {"signature": signature, "key": key.public_key, "token": as_reply(token)}
        return Drafted({name: _text(value) for name, value in state.items()})

    async def send(self, batch: Batch) -> Progress:
        """Send the entry, or find it in the log if it is there; judge the answer in full."""
        state = batch.state
        if "bundle" in state:
            return self._confirmed(state)
        if "index" in state:
            return await self._find(batch, state)
        answer = await self._client.add(_signed(batch).request())
        if isinstance(answer, Added):
            return self._read_answer(batch, answer)
        if isinstance(answer, Exists) and answer.index is not None:
            return await self._find(batch, {**state, "index": answer.index})
        if isinstance(answer, Rejected):
            return Refused(state, "log_refused", answer.detail)
        if isinstance(answer, Slow):
            return Waiting(state, SOON, f"{answer.detail}; the entry may be recorded, and is sent again")
        return Waiting(state, LATER, "the log has the entry and does not say at which index")

    async def look(self, batch: Batch) -> Progress:
        """Do the same again: an entry that is recorded is answered with its index."""
        return await self.send(batch)

    async def watch(self, batch: Batch) -> Confirmed | Refused:
        """Return what was confirmed: an entry under a signed checkpoint cannot be taken back."""
        return self._confirmed(batch.state)

    def prove(self, batch: Batch, place: Place) -> bytes:
        """Return a Sigstore bundle, or one digest of a batch with the bundle over its root."""
        return prove(batch, place)

    async def _find(self, batch: Batch, state: State) -> Progress:
        """Find the entry in the tiles of the log: its answer was lost, or its checkpoint is slow."""
        signed = _signed(batch)
        try:
            inclusion = await self._reader.inclusion(int(state["index"]))
        except Uncovered as error:
            return Waiting(state, SOON, str(error))
        except (OtherKey, Flaw, Tampered) as error:
            return Waiting(state, LATER, str(error))
        entry = recorded_entry(self._reader.log_id, signed.body(), inclusion)
        return self._judge(batch, state, entry)

    def _read_answer(self, batch: Batch, answer: Added) -> Progress:
        """Read the entry that the log returned; a fault in it is not repaired by asking again."""
        try:
            entry = parse_entry(answer.answer)
            if entry.inclusion:
                self._reader.check_key(entry.inclusion.checkpoint)
        except OtherKey as error:
            return Waiting(batch.state, LATER, str(error))
        except (Tampered, Flaw) as error:
            return Refused(batch.state, "proof_invalid", f"the answer of the log cannot be read: {error}")
        return self._judge(batch, batch.state, entry)

    def _judge(self, batch: Batch, state: State, entry: LogEntry) -> Progress:
        """Judge the proof as a verifier would, with the keys that this installation knows."""
        signed = _signed(batch)
        try:
            bundle = encode_bundle(signed, entry, [b64decode(batch.state["token"])])
        except NotCanonical as error:
            return Refused(state, "proof_invalid", f"the answer of the log cannot be kept: {error}")
        anchors = Anchors(logs=[self._terms.log], signers=[signed.key], terms=self._terms.timestamps)
        found = check(bundle, batch.root, anchors)
        if found.status is not Status.VERIFIED or found.no_later_than is None:
            return Refused(state, "proof_invalid", _fault(entry, found))
        confirmed = {
            "index": entry.index,
            "bundle": bundle.decode(),
            "log": self._terms.log.vkey(),
            "confirmed_at": found.no_later_than.isoformat(),
        }
        return self._confirmed({**state, **confirmed})

    def _confirmed(self, state: State) -> Confirmed:
        return Confirmed(
            state,
            datetime.fromisoformat(state["confirmed_at"]),
            {"log_index": state["index"]},
            (f"rekor:{state['log']}", public_pem(b64decode(state["key"]))),
        )


def prove(batch: Batch, place: Place) -> bytes:
    """Return the proof of one digest of a confirmed batch. It needs no log, key or setting any more."""
    bundle: bytes = batch.state["bundle"].encode()
    if batch.size == 1:
        return bundle
    return encode_batched(bundle, BatchPlace(place.size, place.index, place.salt, place.path))


def _signed(batch: Batch) -> SignedDigest:
    state = batch.state
    return SignedDigest(batch.root, b64decode(state["signature"]), b64decode(state["key"]))


def _fault(entry: LogEntry, found: Finding) -> str:
    return f"entry {entry.index} of the log does not prove it: {found.detail} ({found.reason})"


def _text(data: bytes) -> str:
    return b64encode(data).decode()
