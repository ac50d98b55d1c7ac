"""`foja log export`: write all events of a stream and the proof of them."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from foja.engine.ledger.excerpts import covered, domain_of, excerpts
from foja.errors import NotCovered
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import print_result
from foja.interfaces.cli.output_files import check_targets, new_file, write_file
from foja.pure.core.bundle import history
from foja.pure.judge.report import Verdict
from foja.verification import verify


async def export(arguments: Namespace) -> int:
    """Write the events that a published checkpoint covers; return 1 if they do not verify."""
    entity_id, target = arguments.entity, arguments.output
    proof_path = arguments.proof or _beside(target)
    check_targets(arguments, target, proof_path)
    async with open_installation(arguments) as app:
        domain = await domain_of(app.ledger, entity_id)
        count = await covered(app.ledger, entity_id)
        if not count:
            raise NotCovered(f"no published checkpoint covers an event of {entity_id} yet; run `foja worker`")
        proof = await app.ledger.log.prove(entity_id, count - 1)
        with new_file(arguments, target) as file:
            file.write(history.heading(domain, entity_id))
            async for event in excerpts(app.ledger, entity_id, count):
                file.writelines(history.encode([event]))
        write_file(arguments, proof_path, proof.text())
        verdict = verify(target, trust=[app.trust[0]], proofs=[proof_path]).verdict
    print_result(
        arguments,
        {"file": target, "proof": proof_path, "events": count, "verdict": verdict.value},
        f"wrote {count} events to {target} and their proof to {proof_path}: {verdict.value}",
        f"verify them anywhere: foja verify {target} --proof {proof_path} --trust foja.vkey",
        "send the key separately: `foja log key` prints it",
    )
    return 0 if verdict is Verdict.TOTAL_PASSED else 1


def _beside(export: Path) -> Path:
    """Return the default path of the proof of an export."""
    return export.with_name(export.name.removesuffix(".jsonl") + ".tlog-proof")
