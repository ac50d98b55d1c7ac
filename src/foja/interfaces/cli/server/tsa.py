"""`foja tsa`: the timestamp authorities in use, a test request to each, and the local authority."""

from __future__ import annotations

import secrets
from argparse import Namespace
from contextlib import AsyncExitStack
from hashlib import sha256

from foja.domains.documents.authorities import local_notice, open_stamper
from foja.domains.documents.stamper import Confirmed, Stamper, TimestampAuthority
from foja.engine.embedded.tsa import LocalAuthority, stored_root
from foja.errors import redact
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.output import print_or_write, print_result, table
from foja.interfaces.cli.services import print_started, run_until_stopped
from foja.interfaces.web.endpoints.timestamps import TimestampEndpoint
from foja.interfaces.web.server import address, bind, running
from foja.pure.proofs.tsa import LOCAL_NOTICE, Terms, trusted


def status(arguments: Namespace) -> None:
    """Print the authorities in use and the root of the local one."""
    settings = read_settings(arguments)
    authorities = redact(settings.tsa_urls).split() or ["local"]
    root = stored_root(settings.home)
    local = trusted(root)[0] if root else None
    rows = [("authority", each) for each in authorities]
    if local:
        rows += [("local root", local.name), ("its SHA-256", local.sha256)]
        rows.append(("valid until", f"{local.not_after:%Y-%m-%d}"))
    if note := local_notice(settings):
        rows.append(("note", note))
    document = {"asked": authorities, "local_root_sha256": local.sha256 if local else None, "note": note}
    print_result(arguments, document, *table(("what", "value"), rows))


def root(arguments: Namespace) -> None:
    """Print the root certificate of the local authority."""
    pem = LocalAuthority(read_settings(arguments).home).root.decode()
    print_or_write(arguments, "root", pem, LOCAL_NOTICE)


async def ask(arguments: Namespace) -> int:
    """Request one token from every authority and check it; return 1 if any check fails."""
    async with AsyncExitStack() as closing:
        stamper = await open_stamper(read_settings(arguments), closing)
        results = {each.name: await request_token(each, stamper.terms) for each in stamper.authorities}
    document = {name: {"confirmed": not code, "detail": detail} for name, (code, detail) in results.items()}
    rows = [(name, "bad" if code else "good", detail) for name, (code, detail) in results.items()]
    print_result(arguments, document, *table(("authority", "verdict", "detail"), rows))
    return 1 if any(code for code, _ in results.values()) else 0


async def request_token(authority: TimestampAuthority, terms: Terms) -> tuple[str, str]:
    """Request a token for random bytes and check it. Return why it is not good, if so, and what was found."""
    found = await Stamper([authority], terms).stamp(sha256(secrets.token_bytes(16)).digest())
    if isinstance(found, Confirmed):
        stamp = found.stamp
        ends = f", chain ends {stamp.chain_ends:%Y-%m-%d}" if stamp.chain_ends else ""
        remark = f"; {LOCAL_NOTICE}" if stamp.local else ""
        return "", f"{stamp.gen_time.isoformat()} by {stamp.authority}, policy {stamp.policy}{ends}{remark}"
    return found.code, f"{found.failures[0].detail} ({found.code})"


async def serve(arguments: Namespace) -> int:
    """Serve the local authority over HTTP."""
    authority = LocalAuthority(read_settings(arguments).home)
    with bind(arguments.host, arguments.port, expose=arguments.expose) as listener:
        async with running(TimestampEndpoint(authority.reply, authority.root), listener) as server:
            url = address(listener)
            print_started(arguments, f"stamping at {url}; {LOCAL_NOTICE}", tsa=url, note=LOCAL_NOTICE)
            return await run_until_stopped(arguments, server)
