"""Real scans and purges of a test's store, and how a scan finds what it should not find."""

from __future__ import annotations

from datetime import timedelta

from foja.app import App
from foja.domains.system.orphans.purge import Purger
from foja.domains.system.orphans.scan import Scanner
from foja.domains.system.orphans.service import Orphans
from foja.pure.models.system.orphans import OrphanTerms
from tests.database.schema.rows import Admin

ZERO = timedelta(0)
AT_ONCE = OrphanTerms(grace=ZERO, quarantine=ZERO, fresh=ZERO)


def orphans_of(app: App, terms: OrphanTerms = AT_ONCE) -> Orphans:
    """Return the scans and purges of an installation under other terms than its own."""
    database = app.orphans.database
    return Orphans(database, Scanner(database, app.store, terms), Purger(database, app.store, terms))


async def stage_wrongly(app: App, admin: Admin, data: bytes) -> None:
    """Let a scan stage the bytes of a document whose reference an administrator deleted, and rebuild it."""
    document = await app.documents.add(data)
    admin.execute("delete from foja.object_reference where entity_id = %s", [document.id])
    await orphans_of(app).scanner.scan()
    await app.rebuild()
