"""Uploads, uploads of the same content by two tenants, erasures, artifacts and purges at full speed.

No live reference loses its object, and whatever is read is what was stored.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

import pytest

from foja.app import App
from foja.domains.documents.document import Document
from foja.domains.system.orphans.purge import Purger
from foja.domains.system.orphans.scan import Scanner
from foja.engine.observe.audit import audit
from foja.errors import Busy, ObjectMissing
from foja.pure.models.system.orphans import OrphanTerms
from tests.database.schema.rows import Admin

ZERO = timedelta(0)
TERMS = OrphanTerms(grace=ZERO, quarantine=ZERO, fresh=ZERO, max_objects=10**6, max_share=10.0**6)
CONTENTS = [f"content {number}\n".encode() * 50 for number in range(12)]


@dataclass
class Office:
    """What one tenant added and did not erase."""

    app: App
    tenant: str
    documents: dict[Document, bytes] = field(default_factory=dict)

    async def add(self) -> None:
        """Add a document whose bytes others have, too, and read it at once."""
        data = random.choice(CONTENTS)
        try:
            document = await self.app.documents.add(data, name=str(uuid4()))
        except (Busy, ObjectMissing):  # purged five times in a row before its event
            return
        await self.check(document, data)
        self.documents[document] = data

    async def erase(self) -> None:
        """Erase one of the documents."""
        if len(self.documents) > 3:
            document = random.choice(list(self.documents))
            del self.documents[document]
            await document.erase(reason="asked")

    async def check(self, document: Document, data: bytes) -> None:
        """Fail unless the bytes can be read."""
        assert document.sha256 is not None
        assert await self.app.objects.get(self.tenant, document.sha256) == data

    async def read(self) -> None:
        """Read one of the documents; it may fail only if the document is erased meanwhile."""
        if self.documents:
            document, data = random.choice(list(self.documents.items()))
            try:
                await self.check(document, data)
            except ObjectMissing:
                if document in self.documents:
                    raise


@dataclass
class Race:
    """All of them at once, for some time."""

    offices: list[Office]
    ends: float
    done: Counter[str] = field(default_factory=Counter)

    async def live(self, office: Office) -> None:
        """Add, read and erase; few enough live at once that contents without any document come up."""
        while not self.over:
            act = random.choices([office.add, office.read, office.erase], [5, 3, 4])[0]
            if len(office.documents) > len(CONTENTS) // 2:
                act = office.erase
            await act()
            self.done[act.__name__] += 1

    async def tidy(self, app: App) -> None:
        """Scan and purge without any grace period."""
        database = app.orphans.database
        scanner, purger = Scanner(database, app.store, TERMS), Purger(database, app.store, TERMS)
        while not self.over:
            found = await scanner.scan()
            assert (found.outcome, found.missing) == ("complete", 0), found
            gone = await purger.purge()
            assert gone.outcome == "complete", gone
            self.done["purged"] += gone.deleted

    async def protect(self, office: Office) -> None:
        """Let artifacts be built of what may be erased meanwhile."""
        while not self.over:
            if office.documents:
                await random.choice(list(office.documents)).protect()
            await office.app.work(until_idle=True)
            await asyncio.sleep(0.05)
            self.done["worked"] += 1

    @property
    def over(self) -> bool:
        """Whether the time is over and something happened in it; a busy machine gets more time."""
        now, happened = asyncio.get_running_loop().time(), self.done["purged"] > 5 and self.done["erase"] > 5
        return now > (self.ends if happened else self.ends + 60)


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.long)])
async def test_no_live_reference_loses_its_object(
    open_app: Callable[..., App], admin: Admin, seconds: float
) -> None:
    async with open_app() as app, open_app(tenant="acme") as other:
        offices = [Office(app, "default"), Office(other, "acme")]
        race = Race(offices, asyncio.get_running_loop().time() + seconds)
        living = [race.live(office) for office in offices * 3]
        await asyncio.gather(*living, race.tidy(app), race.tidy(other), race.protect(offices[0]))
        for office in offices:
            for document, data in office.documents.items():
                await office.check(document, data)
        rows = admin.execute("select sha256, generation from foja.object_reference").fetchall()
        assert len(rows) >= sum(len(office.documents) for office in offices)
        for digest, generation in {*rows}:
            await app.store.get(digest, generation)
        report = await audit(app.settings.database_url, max_lag_seconds=3600)
        assert [each for each in report.findings if each.check == "object"] == []
    assert race.done["add"] > 10
    assert race.done["erase"] > 5
    assert race.done["purged"] > 5, race.done
