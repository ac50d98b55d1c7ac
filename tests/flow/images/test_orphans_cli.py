"""`foja orphans`: scan, list, purge, restore, report."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

import foja
from tests.database.schema.rows import Admin
from tests.flow.command import Run, check_refused

DATA = b"orphan"
DIGEST = sha256(DATA).hexdigest()


@pytest.fixture
def orphan(home: Path, admin: Admin) -> str:
    """An object that is old enough to be staged, and its digest."""

    async def store() -> None:
        async with foja.connect() as app:
            await app.objects.put(DATA)
            await app.documents.add(b"kept", name="kept.txt")

    asyncio.run(store())
    admin.execute("update foja.object set changed_at = now() - interval '2 days'")
    return DIGEST


def make_due(admin: Admin) -> None:
    """Let the grace period of every candidate be over, with a scan on each of its days."""
    admin.execute("update image_orphan_candidates set detected_at = now() - interval '8 days'")
    admin.execute(
        """insert into foja.orphan_run (run, action, outcome, started_at, ended_at, candidates)
        select gen_random_uuid(), 'scan', 'complete', t, t, 1
        from (select now() - make_interval(days => d) from generate_series(1, 7) d) x(t)"""
    )


def test_an_orphan_from_the_scan_to_its_tombstone(run: Run, admin: Admin, orphan: str) -> None:
    assert run("orphans", "list").lines == ["there are no candidates"]
    dry = run("orphans", "scan", "--dry-run", "--json").document
    assert (dry["dry"], dry["checked"], dry["staged"]) == (True, 2, 1)
    found = run("orphans", "scan", "--as", "ana")
    assert found.code == 0
    assert found.lines == [
        "2 objects checked; 1 orphans and 0 strays staged; 0 candidates taken back",
    ]
    [candidate] = run("orphans", "list", "--json").document
    assert (candidate["path"], candidate["size"], candidate["state"]) == (f"objects/{orphan}/0", 6, "live")
    assert run("orphans", "purge").lines[0].startswith("0 put in quarantine")

    make_due(admin)
    assert run("orphans", "purge", "--dry-run").lines == [
        "1 candidates are due and would be put in quarantine"
    ]
    assert (
        run("orphans", "purge", "--reason", "tidying", "--as", "ana", "--json").document["quarantined"] == 1
    )
    restored = run("orphans", "restore", orphan, "--reason", "needed after all")
    assert restored.lines == [f"objects/{orphan}/0 is live, and not a candidate any more"]
    check_refused(run("orphans", "restore", orphan, "--reason", "twice"), 1, "neither a candidate nor")

    report = run("orphans", "report", "--json").document
    assert (report["armed"], report["objects"], report["total_staged"]) == (True, 2, 0)
    assert [each["action"] for each in report["runs"][:2]] == ["purge", "purge"]
    assert "the automatic purge is armed" in run("orphans").lines


def test_one_object_is_purged_at_once(run: Run, admin: Admin, orphan: str) -> None:
    purge = ("orphans", "purge", "--object")
    kept = sha256(b"kept").hexdigest()
    check_refused(run(*purge, kept, "--reason", "r"), 1, "events refer to the object")
    gone = run(*purge, orphan, "--reason", "request 17", "--as", "ana", "--json")
    assert gone.document == {"deleted": [f"objects/{orphan}/0"]}
    row = admin.execute(
        "select actor, payload ->> 'reason' from foja.event where kind = 'object.purged'"
    ).fetchone()
    assert row == ("ana", "request 17")
    check_refused(run(*purge, orphan, "--reason", "again"), 1, "there is no object")


def test_a_missing_object_and_an_aborted_purge_end_with_one(
    run: Run, home: Path, admin: Admin, orphan: str
) -> None:
    kept = f"objects/{sha256(b'kept').hexdigest()}/0"
    (home / "store" / kept).unlink()
    found = run("orphans", "scan")
    assert found.code == 1
    assert found.lines[-1] == f"missing in the store: {kept}"
    admin.execute("update foja.orphan_run set ended_at = now() - interval '3 days'")
    aborted = run("orphans", "purge")
    assert aborted.code == 1
    assert aborted.lines[-1].startswith("aborted: the last complete scan is too old")
    assert any("a purge would be aborted" in line for line in run("orphans", "report").lines)
