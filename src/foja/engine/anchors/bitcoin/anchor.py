"""Bitcoin, by OpenTimestamps: calendars put the root of a batch into a block, our own node shows the block.

The root is sent to all configured calendars. Whatever a proof names, only these are asked. Nothing that a
calendar says confirms a batch: the block's header comes from our own nodes, and our own judge decides.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from foja.engine.anchors.bitcoin.attestations import assess, judge
from foja.engine.anchors.bitcoin.headers import Chain, Sources
from foja.engine.anchors.bitcoin.promises import Promises
from foja.engine.anchors.network import (
    Batch,
    Confirmed,
    Drafted,
    Place,
    Progress,
    Readiness,
    Refused,
    Waiting,
)
from foja.engine.remote.http import server_name
from foja.engine.remote.networks.calendar import Calendar, NoTimestamp, Trouble, calendars
from foja.errors import Refused as RefusedRequest
from foja.errors import Unavailable
from foja.pure.proofs.finding import Status
from foja.pure.proofs.ots.batch import batch_operations, write_stamp
from foja.pure.proofs.ots.network import MAIN, MINIMUM_DIFFICULTY, NETWORKS, block_name
from foja.pure.proofs.ots.timestamp import Branch, Timestamp

NAME: Final = "bitcoin"
PENDING: Final = "pending"


@dataclass(frozen=True, slots=True)
class BitcoinTerms:
    """Which calendars and nodes are asked, and when a batch is confirmed."""

    calendars: tuple[str, ...] = field(repr=False)
    rpc_urls: tuple[str, ...] = field(default=(), repr=False)  # nodes that speak the JSON-RPC of bitcoind
    header_urls: tuple[str, ...] = field(default=(), repr=False)  # servers of blocks (Esplora), or none
    network: str = MAIN
    confirmations: int = 6
    least_calendars: int = 2
    poll_seconds: float = 3 * 3600.0  # while calendars wait for a block
    block_seconds: float = 600.0  # while a block waits for confirmations, for each that is missing
    retry_seconds: float = 300.0  # after a calendar or a node did not answer
    timeout_seconds: float = 10.0

    def __post_init__(self) -> None:
        if self.network not in NETWORKS:
            raise RefusedRequest(f"{self.network!a} is not a network of Bitcoin; use {', '.join(NETWORKS)}")
        if self.confirmations < 1:
            raise RefusedRequest("a block needs at least one confirmation")

    @property
    def by_name(self) -> dict[str, str]:
        """The calendars by the name that is stored and shown, without path: each server counts once."""
        return {server_name(url): url for url in self.calendars}


class Bitcoin:
    """Implements `foja.engine.anchors.network.Network`."""

    name = NAME
    account = None

    def __init__(self, terms: BitcoinTerms) -> None:
        self._terms = terms
        self._sources = Sources(terms.network, terms.rpc_urls, terms.header_urls)
        self._names = terms.by_name

    async def check(self) -> Readiness:
        """Ask calendars and nodes whether anchors can be made now; one calendar that answers is enough."""
        terms, missing = self._terms, list[str]()
        if len(self._names) < terms.least_calendars:
            missing.append(
                f"FOJA_OTS_CALENDARS names {len(self._names)} calendars; {terms.least_calendars} are needed"
            )
        async with self._connect() as by_name:
            answers = await asyncio.gather(*(each.answers() for each in by_name.values()))
        away = {name: why.detail for name, why in zip(by_name, answers, strict=True) if why}
        answering = [each for each in self._names if each not in away]
        if not answering:
            missing += [f"the calendar {name} does not answer: {why}" for name, why in away.items()]
        found: dict[str, object] = {"network": terms.network, "calendars": answering, "away": away}
        try:
            found["height"] = (await self._sources.chain()).height
        except Unavailable as error:
            missing.append(str(error))
        return Readiness(tuple(missing), found)

    async def draft(self, root: bytes, nonce: int | None) -> Drafted:
        """Return an empty state: a calendar takes the root as it is, unsigned and for nothing."""
        return Drafted(Promises(root).dump())

    async def send(self, batch: Batch) -> Progress:
        """Send the root to every calendar that has not accepted it yet; again is harmless."""
        promises, answers = await self._submit(Promises.load(batch.root, batch.state))
        if promises.calendars:
            detail = f"{len(promises.calendars)} of {len(self._names)} calendars accepted the root"
            return self._wait(promises, detail)
        return self._unsent(promises, answers)

    async def look(self, batch: Batch) -> Progress:
        """Ask the calendars for blocks, and our own nodes for the headers of these blocks."""
        promises, answers = await self._submit(Promises.load(batch.root, batch.state))
        if not promises.calendars:
            return self._unsent(promises, answers)
        promises = await self._upgrade(promises)
        stamp = promises.merged
        heights = [each.attestation.height for each in stamp.of_kind("bitcoin")]
        if not heights:
            return self._unattested(promises)
        try:
            chain = await self._sources.chain(heights)
        except Unavailable as error:  # what the calendars gave must not be lost for that
            return Waiting(promises.note(str(error)).dump(), self._terms.retry_seconds, str(error))
        return self._judge(promises, stamp, chain)

    async def watch(self, batch: Batch) -> Confirmed | Refused:
        """Ask whether the blocks are still in the chain; `Refused("reorged")` if one is gone."""
        promises = Promises.load(batch.root, batch.state)
        blocks = promises.blocks
        if not blocks:
            raise RefusedRequest("a batch that is not confirmed has no block to watch; look at it instead")
        chain = await self._sources.chain(each.height for each in blocks)
        for block in blocks:
            now = chain.headers.get(block.height)
            if now is None:
                raise Unavailable(f"our node is at height {chain.height}, below {self._name(block.height)}")
            if now != block:
                detail = f"{self._name(block.height)} was {block.name} and is {now.name} now"
                return Refused(promises.revoke(detail).dump(), "reorged", detail)
        return self._confirmed(promises)

    def prove(self, batch: Batch, place: Place) -> bytes:
        """Return the `.ots` file of one digest; of a batch that is not confirmed, a pending one."""
        if not batch.state.get("timestamp"):
            raise RefusedRequest("no calendar has answered for this batch yet; look at it first")
        operations = batch_operations(place.salt, place.index, place.size, place.path)
        return write_stamp(place.digest, b64decode(batch.state["timestamp"]), operations)

    # calendars

    async def _submit(self, promises: Promises) -> tuple[Promises, dict[str, NoTimestamp]]:
        """Send the root where it is not accepted yet. Return also why a calendar gave no answer."""
        wanted = [name for name in self._names if name not in promises.calendars]
        failed = dict[str, NoTimestamp]()
        async with self._connect() as each:
            answers = await asyncio.gather(*(each[name].submit(promises.root) for name in wanted))
        for name, answer in zip(wanted, answers, strict=True):
            if isinstance(answer, NoTimestamp):
                failed[name] = answer
                promises = promises.note(f"{name} did not accept the root: {answer.detail}")
            else:
                promises = promises.accept(name, answer)
        return promises, failed

    async def _upgrade(self, promises: Promises) -> Promises:
        """Ask what became of every promise; also after a first block, until the batch is confirmed."""
        every = [(name, branch) for name in promises.calendars for branch in promises.open(name)]
        wanted = [(self._calendar_of(*each), *each) for each in every]
        wanted = [each for each in wanted if each[0] in self._names]  # it may not be configured any more
        async with self._connect() as by_name:
            requests = [by_name[each].timestamp(branch.attestation.message) for each, _, branch in wanted]
            answers = await asyncio.gather(*requests)
        for (calendar, name, branch), answer in zip(wanted, answers, strict=True):
            promises = _answered(promises, name, branch, answer, calendar)
        return promises

    def _calendar_of(self, name: str, promise: Branch) -> str:
        """Return the calendar to ask: the one that a promise names if configured, else its giver."""
        named = server_name(promise.attestation.calendar)
        return named if named in self._names else name

    def _connect(self) -> AbstractAsyncContextManager[dict[str, Calendar]]:
        return calendars(self._names, self._terms.timeout_seconds)

    def _unsent(self, promises: Promises, failed: dict[str, NoTimestamp]) -> Progress:
        """Return what follows if no calendar has accepted the root."""
        detail = "no calendar accepted the root: " + "; ".join(promises.log)
        troubles = {each.trouble for each in failed.values()}
        if failed.keys() == self._names.keys():
            if troubles == {Trouble.REFUSED}:
                return Refused(promises.dump(), "calendars_refused", detail)
            raise Unavailable(detail)
        return Waiting(promises.dump(), self._terms.retry_seconds, detail)

    def _unattested(self, promises: Promises) -> Progress:
        if promises.expired >= promises.calendars.keys():
            detail = "every calendar says that it will have no block for the root"
            return Refused(promises.dump(), "timeout", detail)
        return self._wait(promises, "no calendar has a Bitcoin block for the root yet")

    def _wait(self, promises: Promises, detail: str) -> Waiting:
        absent = [name for name in self._names if name not in promises.calendars]
        if not absent:
            return Waiting(promises.dump(), self._terms.poll_seconds, detail)
        detail = f"{detail}; not accepted by {', '.join(absent)}"
        return Waiting(promises.dump(), self._terms.retry_seconds, detail)

    # blocks

    def _judge(self, promises: Promises, stamp: Timestamp, chain: Chain) -> Progress:
        """Return what the attestations are worth against the chain of our own nodes."""
        terms = self._terms
        found = assess(stamp, chain, terms.network, terms.confirmations)
        promises = promises.note(*found.foreign, *found.unsound)
        if found.proven:
            return self._confirm(promises, stamp, found.proven, chain)
        if found.waits:
            first = min(found.waits, key=lambda each: each.missing)
            seconds = min(
                max(1, first.missing) * terms.block_seconds, terms.poll_seconds
            )  # a height may be a lie
            return Waiting(promises.dump(), seconds, first.detail)
        detail = "; ".join(found.foreign + found.unsound)
        if not found.foreign and promises.is_all_fulfilled():
            return Refused(promises.dump(), "proof_invalid", detail)
        return self._wait(promises, f"no valid attestation yet: {detail}")

    def _confirm(
        self, promises: Promises, stamp: Timestamp, proven: Sequence[Branch], chain: Chain
    ) -> Progress:
        """Keep every attestation that is proven, and every promise that did not lead to one of them."""
        only, keys = Timestamp(stamp.message, tuple(proven)), {each.key for each in proven}
        kept = stamp.select(
            lambda each: (
                each.key in keys or (each.attestation.kind == PENDING and not only.is_fulfilled(each))
            )
        )
        blocks = [chain.headers[height] for height in sorted({each.attestation.height for each in proven})]
        found = judge(kept, blocks, self._terms.network)
        if found.status is not Status.VERIFIED:
            return Refused(promises.note(found.detail).dump(), "proof_invalid", found.detail)
        return self._confirmed(promises.confirm(kept, blocks))

    def _confirmed(self, promises: Promises) -> Confirmed:
        first, terms = promises.blocks[0], self._terms
        network = f"bitcoin-network:{terms.network}:{MINIMUM_DIFFICULTY[terms.network]}"
        headers = [f"bitcoin-header:{each.height}:{each.data.hex()}" for each in promises.blocks]
        test = {} if terms.network == MAIN else {"test_network": terms.network}
        payload = {"block_height": first.height, "block_hash": first.name, **test}
        return Confirmed(promises.dump(), first.time, payload, (network, *headers))

    def _name(self, height: int) -> str:
        return block_name(self._terms.network, height)


def _answered(
    promises: Promises, name: str, promise: Branch, answer: bytes | NoTimestamp, asked: str
) -> Promises:
    """Return the promises with the answer of the calendar that was asked about one of them."""
    if not isinstance(answer, NoTimestamp):
        return promises.add(name, promise, answer)
    if answer.trouble is Trouble.EXPIRED:
        return replace(promises, expired=promises.expired | {name})
    if answer.trouble is Trouble.PENDING:
        return promises
    return promises.note(f"{asked} did not answer: {answer.detail}")
