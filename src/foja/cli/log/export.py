"""`foja log export`: write all events of a stream and the proof of them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

from foja.app import App
from foja.cli.installation import open_installation
from foja.cli.output import print_json, print_line
from foja.core.bundle import history
from foja.core.proof import Proof
from foja.errors import NotCovered
from foja.judge.report import Report, Verdict
from foja.ledger.excerpts import covered, domain_of, excerpts
from foja.verification import verify


async def export(arguments: Namespace) -> int:
    """Write the events that a published checkpoint covers; return 1 if they do not verify."""
    target: Path = arguments.output
    proof_path: Path = arguments.proof or proof_file(target)
    async with open_installation(arguments) as app:
        domain = await domain_of(app.ledger, arguments.entity)
        count, proof = await _prove_last_covered(app, arguments.entity)
        with target.open("wb") as file:
            file.write(history.heading(domain, arguments.entity))
            async for line in _encode_events(app, arguments.entity, count):
                file.write(line)
        _write_proof(proof_path, proof)
        report = verify(target, trust=[app.trust[0]], proofs=[proof_path])
        _print_result(arguments, proof_path, count, report)
    return 0 if report.verdict is Verdict.TOTAL_PASSED else 1


def _write_proof(path: Path, proof: Proof) -> None:
    path.write_text(proof.text(), encoding="utf-8")


def proof_file(export: Path) -> Path:
    """Return the default path of the proof of an export."""
    return export.with_name(export.name.removesuffix(".jsonl") + ".tlog-proof")


async def _prove_last_covered(app: App, entity_id: UUID) -> tuple[int, Proof]:
    count = await covered(app.ledger, entity_id)
    if not count:
        raise NotCovered(f"no published checkpoint covers an event of {entity_id} yet; run `foja worker`")
    return count, (await app.ledger.log.prove(entity_id, count - 1)).proof


async def _encode_events(app: App, entity_id: UUID, count: int) -> AsyncIterator[bytes]:
    async for event in excerpts(app.ledger, entity_id, count):
        for line in history.encode([event]):
            yield line


def _print_result(arguments: Namespace, proof_path: Path, count: int, report: Report) -> None:
    target = arguments.output
    if arguments.json:
        print_json({"file": target, "proof": proof_path, "events": count, "verdict": report.verdict.value})
        return
    print_line(f"wrote {count} events to {target} and their proof to {proof_path}: {report.verdict.value}")
    print_line(f"verify them anywhere: foja verify {target} --proof {proof_path} --trust foja.vkey")
    print_line("send the key separately: `foja log key` prints it")
