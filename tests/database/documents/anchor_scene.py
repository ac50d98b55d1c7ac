"""An installation with doubles of the networks, and documents that wait for anchors."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
import pytest

from foja.app import App
from foja.domains.documents.workers.anchor_batches import BatchWorker
from foja.domains.documents.workers.anchors import Submitter
from foja.engine.anchors.store import AnchorStore
from foja.engine.anchors.terms import AnchorTerms, terms_of
from foja.engine.jobs.outcome import Job, Outcome
from foja.engine.jobs.queue import Queue
from foja.engine.observe.audit import audit
from tests.fake_network import Chain, FakeNetwork

Admin = psycopg.Connection[Any]
NETWORKS = ("polygon", "bitcoin", "rekor")
SOURCES = {
    "polygon": "process-polygon-anchors",
    "bitcoin": "process-bitcoin-anchors",
    "rekor": "submit-anchor-rekor",
}
_numbers = count()


class Scene:
    """An installation, its networks, and the administrator's connection."""

    def __init__(self, app: App, networks: dict[str, FakeNetwork], admin: Admin) -> None:
        self.app, self.networks, self.admin = app, networks, admin

    @property
    def polygon(self) -> FakeNetwork:
        return self.networks["polygon"]

    @property
    def chain(self) -> Chain:
        return self.polygon.chain

    async def protect(self, documents: int, *evidence: str, stage: str | None = None) -> list[UUID]:
        """Add documents and work until their anchors are requested."""
        wanted = evidence or ("polygon",)
        ids = []
        for _ in range(documents):
            digest = sha256(f"document {next(_numbers)}".encode()).hexdigest()
            document = await self.app.documents.add_digest(digest)
            await document.protect(["tsa", *wanted], stage=stage)
            ids.append(document.id)
        await self.app.work(until_idle=True, only=["protect_document_v2", "run_tsa"])
        return ids

    def terms(self, network: str = "polygon") -> AnchorTerms:
        return terms_of(self.app.settings, network)

    def submitter(self, network: str = "polygon") -> Submitter:
        return Submitter(self.networks[network], self.store(network), self.terms(network))

    def store(self, network: str = "polygon") -> AnchorStore:
        return AnchorStore(self.queue(network).database, network)

    def queue(self, network: str = "polygon") -> Queue:
        return self.app.workers.queue(f"submit-anchor-{network}")

    def follower(self, network: str = "polygon") -> BatchWorker:
        queue = self.app.workers.queue(SOURCES[network])
        return BatchWorker(self.networks[network], queue, self.terms(network))

    async def claim(self, network: str = "polygon", most: int = 100) -> list[Job]:
        return await self.queue(network).claim(f"submit_anchor_{network}", most, "test")

    async def settle(self, jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> list[str]:
        queue = self.queue(jobs[0].type.removeprefix("submit_anchor_"))
        return [str(each) for each in await queue.settle(list(zip(jobs, outcomes, strict=True)))]

    async def work(self) -> None:
        """Do all jobs that can be done now."""
        await self.app.work(until_idle=True)

    async def look(self, network: str = "polygon") -> None:
        """Look at every batch now, whatever its next look."""
        self.run("update foja.anchor_batch set next_look = now() where next_look is not null")
        self.run("update foja.anchor_batch set lease_until = now() where lease_until is not null")
        await self.follower(network).process([])

    async def confirm(self, network: str = "polygon") -> None:
        """Mine, look, and let the executor see it."""
        self.networks[network].chain.mine()
        await self.look(network)
        await self.work()

    def run(self, statement: str, *values: object) -> None:
        self.admin.execute(statement.encode(), values)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self.admin.execute(statement.encode(), values).fetchall()

    def kinds(self, document: UUID) -> list[str]:
        """Return the kinds of a document's events after its timestamp, without those that open attempts."""
        found = [kind for (kind,) in self.rows(
            "select kind from foja.event where entity_id = %s order by seq", document
        )]  # fmt: skip
        return [kind for kind in found[found.index("tsa.confirmed") + 1 :] if not kind.startswith("job.")]

    def payload(self, document: UUID, kind: str) -> Any:
        """Return the payload of the last event of a kind."""
        return self.rows(
            "select payload from foja.event where entity_id = %s and kind = %s order by seq desc",
            document,
            kind,
        )[0][0]

    def statuses(self, network: str = "polygon") -> Counter[str]:
        return Counter(
            status
            for (status,) in self.rows("select status from foja.anchor_batch where network = %s", network)
        )

    def expire(self) -> None:
        """Let every open attempt reach its deadline, and every lease run out."""
        self.run("update foja.attempt set deadline = now() - interval '1 second' where state = 'open'")

    def restore(self) -> None:
        """Write the deadlines again that the events have."""
        self.run(
            """update foja.attempt a set deadline = (v.payload ->> 'deadline')::timestamptz
            from foja.event v where v.entity_id = a.entity_id and v.seq = a.asked_seq"""
        )

    async def check(self) -> None:
        """Check that the audit finds nothing."""
        self.restore()
        await self.app.publish()
        report = await audit(self.app.settings.database_url, max_lag_seconds=60)
        assert report.clean, [str(each) for each in report.findings]

    def release(self) -> None:
        """Let every lease run out, as if its worker had died."""
        self.run("update foja.job set lease_until = now() - interval '1 second' where state = 'running'")
        self.run("update foja.anchor_account set lease_until = now() - interval '1 second'")
        self.run("update foja.anchor_batch set lease_until = now() - interval '1 second'")


@asynccontextmanager
async def scene(
    open_app: Callable[..., App], admin: Admin, patch: pytest.MonkeyPatch, *networks: str, **settings: Any
) -> AsyncIterator[Scene]:
    """Yield an installation with these networks, all enabled."""
    fakes = {name: FakeNetwork(name, Chain()) for name in networks or ("polygon",)}
    patch.setattr("foja.domains.documents.assembly.open_networks", lambda *_: fakes)
    defaults = {
        "anchor_batch_seconds": 0,
        "checkpoint_anchor_seconds": 0,
        "protect_pause_seconds": 0,
        **{f"{name}_pause_seconds": 0 for name in NETWORKS},
    }
    async with open_app(**{**defaults, **settings}) as app:
        for name in fakes:
            assert not (await app.anchors.enable(name)).missing
        yield Scene(app, fakes, admin)
