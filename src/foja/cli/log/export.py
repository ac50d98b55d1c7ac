"""`foja log export`: the history of one stream and its place in the log, for whoever has no access to it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

from foja.app import App
from foja.cli.installation import opened
from foja.cli.output import document, say
from foja.core.bundle import history
from foja.core.proof import Proof
from foja.errors import NotCovered
from foja.judge.report import Report, Verdict
from foja.ledger.excerpts import covered, domain_of, excerpts
from foja.verification import verify


async def export(arguments: Namespace) -> int:
    """Write a history as far as a published checkpoint covers it; 1 if the judge does not pass it."""
    target: Path = arguments.output
    beside: Path = arguments.proof or proof_file(target)
    async with opened(arguments) as app:
        domain = await domain_of(app.ledger, arguments.entity)
        count, proof = await _covered(app, arguments.entity)
        with target.open("wb") as file:
            file.write(history.heading(domain, arguments.entity))
            async for line in _lines(app, arguments.entity, count):
                file.write(line)
        _write(beside, proof)
        report = verify(target, trust=[app.trust[0]], proofs=[beside])
        _tell(arguments, beside, count, report)
    return 0 if report.verdict is Verdict.TOTAL_PASSED else 1


def _write(path: Path, proof: Proof) -> None:
    path.write_text(proof.text(), encoding="utf-8")


def proof_file(export: Path) -> Path:
    """Return where the proof of an export lies."""
    return export.with_name(export.name.removesuffix(".jsonl") + ".tlog-proof")


async def _covered(app: App, entity_id: UUID) -> tuple[int, Proof]:
    count = await covered(app.ledger, entity_id)
    if not count:
        raise NotCovered(f"no published checkpoint covers an event of {entity_id} yet; let `foja worker` run")
    return count, (await app.ledger.log.prove(entity_id, count - 1)).proof


async def _lines(app: App, entity_id: UUID, count: int) -> AsyncIterator[bytes]:
    async for event in excerpts(app.ledger, entity_id, count):
        for line in history.encode([event]):
            yield line


def _tell(arguments: Namespace, beside: Path, count: int, report: Report) -> None:
    target = arguments.output
    if arguments.json:
        document({"file": target, "proof": beside, "events": count, "verdict": report.verdict.value})
        return
    say(f"wrote {count} events to {target} and their place in the log to {beside}: {report.verdict.value}")
    say(f"check them anywhere: foja verify {target} --proof {beside} --trust foja.vkey")
    say("the key travels apart from them: `foja log key` prints it")
