"""`foja log anchors`: the checkpoints that networks confirmed, and their proofs as files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING

from foja.errors import SetupFailed
from foja.interfaces.cli.documents.proof_files import (
    README,
    TRUST,
    check_folder,
    command_of,
    for_others,
    write_folder,
)
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import print_result, table
from foja.pure.core.bundle.names import loose_name, proof_name

if TYPE_CHECKING:
    from foja.app import App
    from foja.domains.system.service import AnchoredCheckpoint

HEAD = ("log", "size", "network", "confirmed", "batch", "state")
NONE = "no checkpoint is anchored yet; `foja anchors` shows which networks are enabled"
INTRODUCTION = """\
Each NOTE.checkpoint is a checkpoint that this log signed: it covers every entry up to its size.
A proof is about the SHA-256 digest of the bytes of the note, so do not change them.
`foja fsck --checkpoint NOTE.checkpoint` compares an installation with one of them.
"""


async def anchors(arguments: Namespace) -> None:
    """Print the anchored checkpoints, or write their notes and proofs to a folder."""
    if arguments.output:
        check_folder(arguments)
    async with open_installation(arguments) as app:
        found = await app.system.anchored()
        if arguments.output:
            await _export(arguments, app, found)
            return
    lines = table(HEAD, [_row(each) for each in found], NONE)
    print_result(arguments, [_document(each) for each in found], *lines)


async def _export(arguments: Namespace, app: App, found: Sequence[AnchoredCheckpoint]) -> None:
    files, trust, commands = dict[str, bytes](), list[str](app.trust), [INTRODUCTION]
    for each in found:
        proof = await app.system.proof_of(each)
        if proof is None:  # a reorganisation took it back
            continue
        note = f"{each.name}.checkpoint"
        name = f"{each.name}.{loose_name(proof_name(each.network, 1, proof.data)).partition('.')[2]}"
        own_files = for_others({name: proof.data}, each.sha256)
        files |= {note: each.checked_note(), **own_files}
        trust += proof.trust
        others = [command_of(other, own_files, each.sha256, proof.trust, note) for other in own_files]
        own = f"foja verify {note} --proof {name} --trust {TRUST}"
        commands += [name, *(f"  {other}" for other in others if other), f"  {own}", ""]
    if not files:
        raise SetupFailed(NONE)
    write_folder(arguments, {**files, README: "\n".join(commands).encode()}, dict.fromkeys(trust))


def _row(each: AnchoredCheckpoint) -> tuple[object, ...]:
    at = f"{each.confirmed_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    return each.origin, each.size, each.network, at, each.batch, _state(each)


def _state(each: AnchoredCheckpoint) -> str:
    if each.status == "confirmed":
        return "confirmed"
    return f"not confirmed any more: its batch is {each.status or 'missing'}"


def _document(each: AnchoredCheckpoint) -> dict[str, object]:
    return {
        "log": each.log,
        "origin": each.origin,
        "size": each.size,
        "network": each.network,
        "sha256": each.sha256,
        "batch": each.batch,
        "confirmed_at": each.confirmed_at,
        "confirmed": each.status == "confirmed",
        "note": each.note,
    }
