"""The parser of `foja cosigner`."""

from __future__ import annotations

from argparse import ArgumentParser

from foja.interfaces.cli.parser.values import key_name, port
from foja.interfaces.cli.parser.verbs import Verbs


def add_cosigner(verbs: Verbs) -> None:
    """Add the verb `cosigner` and its verbs; without a verb the logs that it has seen are listed."""
    cosigner = verbs.add(
        "log.cosigner:status",
        "sign checkpoints of other logs after checking that they only grew (C2SP tlog-witness)",
        "  foja cosigner\n  foja cosigner serve --log other.vkey",
        name="cosigner",
    )
    inner = Verbs(cosigner)
    inner.add(
        "log.cosigner:status",
        "list the logs that this cosigner has signed, with their sizes",
        "  foja cosigner status --json",
    )
    key = inner.add(
        "log.cosigner:key",
        "print the public key of this cosigner, which is created on first use",
        "  foja cosigner key --name cosigner.example.com > cosigner.vkey\n"
        "  foja verify contract.asice --trust foja.vkey --trust cosigner.vkey",
    )
    _add_key_options(key)
    _add_serve(inner)


def _add_key_options(verb: ArgumentParser) -> None:
    verb.add_argument(
        "--name",
        type=key_name,
        help="the name in its key, such as cosigner.example.com; given once, when the key is made",
    )
    verb.add_argument(
        "--algorithm",
        choices=["ed25519", "ml-dsa-44"],
        help="how its key signs (ed25519); given once, when the key is made. ml-dsa-44 also holds against"
        " quantum computers, and needs cryptography 48 or later on both sides",
    )


def _add_serve(verbs: Verbs) -> None:
    serve = verbs.add(
        "log.cosigner:serve",
        "sign checkpoints of known logs over HTTP until stopped",
        "  foja cosigner serve --log other.vkey\n"
        "  foja cosigner serve --log 'name+id+key' --log other.vkey --port 3162\n"
        '  FOJA_COSIGNERS="http://127.0.0.1:3162 $(foja cosigner key)" foja up      in another installation',
    )
    serve.add_argument(
        "--log",
        action="append",
        required=True,
        dest="logs",
        metavar="VKEY|FILE",
        help="the public key of a log to sign for; may be repeated",
    )
    _add_key_options(serve)
    serve.add_argument(
        "--restart",
        action="append",
        default=[],
        dest="restarts",
        metavar="ORIGIN",
        help="the origin line of a restart to accept although it names another head than was seen last: a log"
        " that was restored from a backup; may be repeated",
    )
    serve.add_argument(
        "--moved",
        action="store_true",
        help="confirm that the folder was moved here and is the newest; never for one from a backup",
    )
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=port, default=3162, help="the port (3162); 0 for any free one")
    serve.add_argument(
        "--expose", action="store_true", help="accept requests from other machines, without authentication"
    )
