"""`foja cosigner`: vouch for the growth of other logs."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime

from foja.engine.embedded.cosigner import LocalCosigner, own_signer, seen_logs
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.log.verify import read_key
from foja.interfaces.cli.output import print_result, table
from foja.interfaces.cli.services import print_started, run_until_stopped
from foja.interfaces.web.endpoints.cosigner import CosignerEndpoint
from foja.interfaces.web.server import address, bind, running
from foja.pure.proofs.cosignature import CosignatureAlgorithm, CosignerSigner

HEAD = ("log", "size", "root", "signed at")
NONE = "no log was signed yet; `foja cosigner serve --log KEY` signs for one"


def status(arguments: Namespace) -> None:
    """Print the newest checkpoint of each log that was signed."""
    seen = [
        {
            "log": each.origin,
            "size": each.size,
            "root": each.root.hex(),
            "signed_at": datetime.fromtimestamp(time, UTC),
        }
        for each, time in seen_logs(read_settings(arguments).home)
    ]
    print_result(arguments, seen, *table(HEAD, [[*each.values()] for each in seen], NONE))


def key(arguments: Namespace) -> None:
    """Print the public key."""
    vkey = _signer(arguments).key().vkey()
    print_result(arguments, {"key": vkey}, vkey)


def _signer(arguments: Namespace) -> CosignerSigner:
    return own_signer(read_settings(arguments).home, arguments.name, _algorithm(arguments))


def _algorithm(arguments: Namespace) -> CosignatureAlgorithm | None:
    return CosignatureAlgorithm(arguments.algorithm) if arguments.algorithm else None


async def serve(arguments: Namespace) -> int:
    """Sign checkpoints of the given logs over HTTP."""
    logs = [read_key(each, "--log") for each in arguments.logs]
    home = read_settings(arguments).home
    with (
        LocalCosigner.opened(
            home,
            logs,
            name=arguments.name,
            algorithm=_algorithm(arguments),
            moved=arguments.moved,
            restarts=arguments.restarts,
        ) as cosigner,
        bind(arguments.host, arguments.port, expose=arguments.expose) as listener,
    ):
        async with running(CosignerEndpoint(cosigner.reply), listener) as server:
            url = address(listener)
            message = f"cosigning at {url} as {cosigner.vkey}"
            print_started(arguments, message, cosigner=url, key=cosigner.vkey)
            return await run_until_stopped(arguments, server)
