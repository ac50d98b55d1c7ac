"""`foja log receipt`: write an event and a COSE receipt of its place in the log."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from foja.cli.installation import open_installation
from foja.cli.log.verify import EVENT_SUFFIX
from foja.cli.output import print_result
from foja.cli.output_files import check_targets, write_file
from foja.ledger.excerpts import prove_event
from foja.proofs.cose import write_receipt


async def receipt(arguments: Namespace) -> int:
    """Sign the root of a published checkpoint once more, as a receipt of one event below it."""
    target: Path = arguments.output
    event_path = arguments.event or target.with_name(target.name.removesuffix(".cose") + EVENT_SUFFIX)
    check_targets(arguments, target, event_path)
    async with open_installation(arguments) as app:
        proven, signer = await prove_event(app.ledger, arguments.entity, arguments.seq), app.signer
    entry = proven.excerpt.check()
    checkpoint = proven.proof.check(entry, [signer.verifier()])  # the key signs no root that it did not sign
    subject = f"{arguments.entity}/{arguments.seq}"
    write_file(arguments, target, write_receipt(signer, checkpoint, proven.proof, subject).encode())
    write_file(arguments, event_path, proven.event_text())
    print_result(
        arguments,
        {"receipt": target, "event": event_path, "entry": entry.hex(), "index": proven.index},
        f"wrote {target} and {event_path}",
        f"verify them anywhere: foja verify {event_path} --proof {target} --trust foja.vkey",
        f"or: scitt-cose --receipt {target} --receipt-log-pubkey log.pem --leaf-entry-hex {entry.hex()}",
        "send the key separately: `foja log key` prints it, `foja log key --pem` for other tools",
    )
    return 0
