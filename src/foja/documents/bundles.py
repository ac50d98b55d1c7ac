"""Bundles: read, stamped and written, and judged by the code that `foja verify` runs."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import BinaryIO, cast
from uuid import UUID

from foja.core.bundle import archive, assembly, names
from foja.core.bundle.archive import Part, measured
from foja.core.bundle.reader import Container, open_container
from foja.documents.bundle_facts import BundleFacts, Transcript
from foja.documents.stamper import Confirmed, Stamper
from foja.errors import Unstamped
from foja.judge.container.bundle import BundleRequest, judge_bundle
from foja.judge.report import Report
from foja.judge.trust import Trust
from foja.proofs.tsa import Timestamp


@dataclass(frozen=True, slots=True)
class Written:
    """A container that was written: its witness, and its seal."""

    witness: str
    stamp: Timestamp


class Bundles:
    """Writes the bundle of any document, at any time."""

    def __init__(self, facts: BundleFacts, stamper: Stamper, trust: Trust) -> None:
        self._facts, self._stamper, self._trust = facts, stamper, trust

    def of(self, tenant: str) -> Bundles:
        """Return the same for the documents of another tenant."""
        return Bundles(self._facts.of(tenant), self._stamper, self._trust)

    async def write(
        self, document: UUID, target: BinaryIO, *, with_document: bool = True, events: int | None = None
    ) -> Written:
        """Write the bundle of a document's first `events`, or of as many as a checkpoint covers."""
        high = events or await self._facts.covered(document) or None
        history = await self._facts.history(document, high)
        with tempfile.TemporaryFile() if with_document else nullcontext() as spool:
            contents = await self._facts.contents(history, cast("BinaryIO | None", spool))
            parts = contents.parts()
            found = await self._stamp(assembly.listing(parts))
            await asyncio.to_thread(_write, assembly.seal(parts, found.token), target)
        return Written(contents.manifest.witness_hash.hex(), found)

    async def transcribe(self, entity_id: UUID) -> Transcript:
        """Return the sealed events of a stream of any domain as a document."""
        return await self._facts.transcribe(entity_id)

    async def is_covered(self, document: UUID, events: int) -> bool:
        """Return whether a published checkpoint covers this many events of a document."""
        return await self._facts.covered(document) >= events

    async def renew(self, source: BinaryIO, target: BinaryIO) -> Timestamp:
        """Write a container again, with one more token over everything in it."""
        container = open_container(source)
        parts = await asyncio.to_thread(_parts, container)
        number = sum(name.endswith(".tst") for name in container.names if name.startswith(names.META))
        found = await self._stamp(assembly.renewal_listing(parts, number))
        await asyncio.to_thread(_write, assembly.renew(parts, number, found.token), target)
        return found

    async def judge(self, file: BinaryIO) -> Report:
        """Return the report of `foja verify` on a container, as of now."""
        return await asyncio.to_thread(judge_bundle, file, BundleRequest(self._trust, datetime.now(UTC)))

    async def _stamp(self, listing: bytes) -> Timestamp:
        found = await self._stamper.stamp(sha256(listing).digest())
        if isinstance(found, Confirmed):
            return found.stamp
        raise Unstamped(found.code, f"no authority stamped the bundle: {found.detail}; try again later")


def _parts(container: Container) -> list[Part]:
    return [measured(name, lambda name=name: container.chunks(name)) for name in container.names]  # type: ignore[misc]


def _write(parts: Sequence[Part], target: BinaryIO) -> None:
    target.writelines(archive.write(parts))
    target.flush()
