"""`foja trust` and `foja proofs`: what a reader needs besides a bundle, and what needs no bundle."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence

from foja.app import App
from foja.engine.ledger.cosigners.configuration import read_cosigners
from foja.engine.ledger.excerpts import domain_of
from foja.engine.settings import Settings
from foja.errors import SetupFailed
from foja.interfaces.cli.documents.proof_files import (
    README,
    TRUST,
    check_folder,
    command_of,
    for_others,
    trust_text,
    write_folder,
)
from foja.interfaces.cli.documents.status import find_document
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import print_or_write
from foja.interfaces.cli.output_files import check_targets
from foja.pure.core.bundle.names import loose_name, record_names
from foja.pure.judge.trust_parser import name_lines


async def trust(arguments: Namespace) -> None:
    """Print the trust of this installation, or what it trusts about one document or another stream."""
    check_targets(arguments, arguments.output)
    async with open_installation(arguments) as app:
        lines = app.trust if arguments.document is None else await _trust_of(app, arguments.document)
        lines += _cosigners(app.settings)
    advice = "give it to readers by another way than the bundle"
    print_or_write(arguments, "trust", trust_text(lines), advice)


async def _trust_of(app: App, text: str) -> list[str]:
    """Return what this installation trusts about a stream, with the names of those who acted in it."""
    stream = await find_document(app, text)
    if await app.documents.known([stream]):
        lines = await app.documents.trust(stream)
    else:
        await domain_of(app.ledger, stream)  # or there is no such stream
        lines = app.trust
    actors = await app.ledger.actors(stream)
    return lines + name_lines(await app.access.names.find(actors, tenant=app.settings.own_tenant))


async def proofs(arguments: Namespace) -> None:
    """Write each proof in its tool's own format, the trust, and the commands that check them without Foja."""
    check_folder(arguments)
    async with open_installation(arguments) as app:
        document = await find_document(app, arguments.document)
        found = await app.documents.proofs(document)
        lines = await app.documents.trust(document)
        witness = (await app.documents.view(document)).witness_hash
    if not found or witness is None:
        raise SetupFailed(
            f"document {document} has no proofs yet; `foja explain {document}` says what it waits for"
        )
    files = for_others(found, witness)
    readme = _readme(witness, found, files, lines)
    write_folder(arguments, {**files, README: readme.encode()}, lines)


def _cosigners(settings: Settings) -> list[str]:
    """Return the keys of those who cosign the log, and how many of them must have signed."""
    keys = [each.key.vkey() for each in read_cosigners(settings)]
    return [*keys, f"cosigners:{settings.cosigner_policy}"] if settings.cosigner_policy else keys


def _readme(
    witness: str, found: Mapping[str, bytes], files: Mapping[str, bytes], trust: Sequence[str]
) -> str:
    """Return the commands that check each proof, with the tools of others and with Foja."""
    lines = [f"The proofs are about the SHA-256 digest {witness}.", ""]
    for name in files:
        commands = [command_of(name, files, witness, trust), _own_command(name, found, witness)]
        if any(commands):
            lines += [name, *(f"  {each}" for each in commands if each), ""]
    return "\n".join(lines)


def _own_command(name: str, found: Mapping[str, bytes], witness: str) -> str | None:
    """Return the command of Foja that checks a proof, or None for a part of one."""
    if name not in found or name.endswith((".blinding", ".xml")):
        return None
    records = map(record_names, range(1, len(found) + 1))
    blinding = {loose_name(each.record): loose_name(each.blinding) for each in records}.get(name)
    more = f" --proof {blinding}" if blinding in found else ""
    return f"foja verify --digest sha256:{witness} --proof {name}{more} --trust {TRUST}"
