"""`foja tsa`: who stamps, the local authority's root, and the local authority for others."""

from __future__ import annotations

from argparse import Namespace

from foja.cli.installation import settings_of
from foja.cli.output import document, say, table
from foja.cli.running import until_told
from foja.embedded.tsa import Authority, kept_root
from foja.proofs.tsa import LOCAL_NOTICE, trusted
from foja.web.serve import address, bind, running
from foja.web.timestamps import Timestamps


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
    if asked == ["local"]:
        rows.append(("remember", LOCAL_NOTICE))
    if arguments.json:
        document({"asked": asked, "local_root_sha256": local.sha256 if local else None})
    else:
        table(("what", "value"), rows)
    return 0


def root(arguments: Namespace) -> int:
    """Print the certificate that tokens of the local authority are checked against."""
    pem = Authority(settings_of(arguments).home).root.decode()
    if arguments.json:
        document({"root": pem})
    elif arguments.output:
        arguments.output.write_text(pem, encoding="utf-8")
        say(f"wrote {arguments.output}; {LOCAL_NOTICE}")
    else:
        print(pem, end="")
    return 0


async def serve(arguments: Namespace) -> int:
    """Answer timestamp requests over HTTP."""
    authority = Authority(settings_of(arguments).home)
    with bind(arguments.host, arguments.port, expose=arguments.expose) as listener:
        async with running(Timestamps(authority.reply, authority.root), listener) as server:
            say(f"stamping at {address(listener)}; {LOCAL_NOTICE}; stop with Ctrl-C")
            return await until_told(server)
