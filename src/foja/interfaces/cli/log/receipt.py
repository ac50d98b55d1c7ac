"""`foja log receipt`: write a COSE receipt of an event, or of a checkpoint that the log continued."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from foja.engine.ledger.excerpts import growth_receipt, prove_event
from foja.errors import Refused
from foja.files import read_file
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.log.verify import EVENT_SUFFIX
from foja.interfaces.cli.output import print_result
from foja.interfaces.cli.output_files import check_targets, write_file
from foja.pure.core.proof import MAX_BYTES

_KEYS = "send the key separately: `foja log key` prints it, `foja log key --pem` for other tools"


async def receipt(arguments: Namespace) -> None:
    """Sign the root of a published checkpoint once more, as a receipt."""
    if arguments.checkpoint:
        if arguments.entity or arguments.event:
            raise Refused("give an event, or --checkpoint FILE, not both")
        await _growth(arguments)
    elif arguments.seq is None:
        raise Refused("name an event, ENTITY SEQ, or give --checkpoint FILE")
    else:
        await _event(arguments)


async def _event(arguments: Namespace) -> None:
    target: Path = arguments.output
    event_path = arguments.event or target.with_name(target.name.removesuffix(".cose") + EVENT_SUFFIX)
    check_targets(arguments, target, event_path)
    async with open_installation(arguments) as app:
        proven = await prove_event(app.ledger, arguments.entity, arguments.seq)
        data, entry = proven.receipt(app.signer), proven.excerpt.check()
    write_file(arguments, target, data)
    write_file(arguments, event_path, proven.event_text())
    print_result(
        arguments,
        {"receipt": target, "event": event_path, "entry": entry.hex(), "index": proven.index},
        f"wrote {target} and {event_path}",
        f"verify them anywhere: foja verify {event_path} --proof {target} --trust foja.vkey",
        f"or: scitt-cose --receipt {target} --receipt-log-pubkey log.pem --leaf-entry-hex {entry.hex()}",
        _KEYS,
    )


async def _growth(arguments: Namespace) -> None:
    target, older = arguments.output, arguments.checkpoint
    check_targets(arguments, target)
    try:
        note = read_file(older, MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{older} cannot be read as a checkpoint ({error})") from None
    async with open_installation(arguments) as app:
        write_file(arguments, target, await growth_receipt(app.ledger, app.signer, note))
    print_result(
        arguments,
        {"receipt": target, "checkpoint": older},
        f"wrote {target}",
        f"verify it anywhere: foja verify {older} --proof {target} --trust foja.vkey",
        _KEYS,
    )
