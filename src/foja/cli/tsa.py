"""`foja tsa`: who stamps, whether they do, and the local authority for others."""

from __future__ import annotations

import secrets
from argparse import Namespace
from contextlib import AsyncExitStack
from hashlib import sha256

from foja.cli.installation import settings_of
from foja.cli.output import document, say, table
from foja.cli.services import begun, until_told
from foja.documents.authorities import local_notice, open_authorities
from foja.documents.stamper import Confirmed, Stamper, TimestampAuthority
from foja.embedded.tsa import LocalAuthority, kept_root
from foja.proofs.tsa import LOCAL_NOTICE, Terms, trusted
from foja.web.server import address, bind, running
from foja.web.timestamps import TimestampEndpoint


def status(arguments: Namespace) -> int:
    """Show who is asked for timestamps, and what the local authority is."""
    settings = settings_of(arguments)
    asked = settings.tsa_urls.split() or ["local"]
    root = kept_root(settings.home)
    local = trusted(root)[0] if root else None
    rows = [("asked", each) for each in asked]
    if local:
        rows += [("local root", local.name), ("its SHA-256", local.sha256)]
        rows.append(("valid until", f"{local.not_after:%Y-%m-%d}"))
    note = local_notice(settings)
    if note:
        rows.append(("remember", note))
    if arguments.json:
        document({"asked": asked, "local_root_sha256": local.sha256 if local else None, "note": note})
    else:
        table(("what", "value"), rows)
    return 0


def root(arguments: Namespace) -> int:
    """Print the certificate that tokens of the local authority are checked against."""
    pem = LocalAuthority(settings_of(arguments).home).root.decode()
    if arguments.json:
        document({"root": pem})
    elif arguments.output:
        arguments.output.write_text(pem, encoding="utf-8")
        say(f"wrote {arguments.output}; {LOCAL_NOTICE}")
    else:
        print(pem, end="")
    return 0


async def ask(arguments: Namespace) -> int:
    """Ask every authority once, and say what its answer proves; 1 if any of them proves nothing."""
    async with AsyncExitStack() as closing:
        authorities = await open_authorities(settings_of(arguments), closing)
        found = {each.name: await _ask(each, authorities.terms) for each in authorities.asked}
    if arguments.json:
        document({name: {"confirmed": good, "detail": detail} for name, (good, detail) in found.items()})
    else:
        rows = [(name, "good" if good else "bad", detail) for name, (good, detail) in found.items()]
        table(("authority", "verdict", "detail"), rows)
    return 0 if all(good for good, _ in found.values()) else 1


async def _ask(authority: TimestampAuthority, terms: Terms) -> tuple[bool, str]:
    found = await Stamper([authority], terms).stamp(sha256(secrets.token_bytes(16)).digest())
    if isinstance(found, Confirmed):
        stamp = found.stamp
        ends = f", chain ends {stamp.chain_ends:%Y-%m-%d}" if stamp.chain_ends else ""
        remark = f"; {LOCAL_NOTICE}" if stamp.local else ""
        return True, f"{stamp.gen_time.isoformat()} by {stamp.authority}, policy {stamp.policy}{ends}{remark}"
    return False, f"{found.failures[0].detail} ({found.code})"


async def serve(arguments: Namespace) -> int:
    """Answer timestamp requests over HTTP."""
    authority = LocalAuthority(settings_of(arguments).home)
    with bind(arguments.host, arguments.port, expose=arguments.expose) as listener:
        async with running(TimestampEndpoint(authority.reply, authority.root), listener) as server:
            place = address(listener)
            begun(arguments, f"stamping at {place}; {LOCAL_NOTICE}", tsa=place, note=LOCAL_NOTICE)
            return await until_told(arguments, server)
