"""The command `foja cosigner`."""

from __future__ import annotations

from foja.interfaces.cli.parser.commands import EXPOSE, LISTEN, Argument, command
from foja.interfaces.cli.parser.values import key_name, port

NAME = Argument(
    "--name NAME",
    "the name in its key, such as cosigner.example.com; given once, when the key is made",
    key_name,
)
ALGORITHM = Argument(
    "--algorithm",
    "how its key signs (ed25519); given once, when the key is made. ml-dsa-44 also holds against"
    " quantum computers, and needs cryptography 48 or later on both sides",
    choices=("ed25519", "ml-dsa-44"),
)
COMMANDS = (
    command(
        "cosigner",
        "log.cosigner:status",
        "sign checkpoints of other logs after checking that they only grew (C2SP tlog-witness)",
        "foja cosigner\nfoja cosigner serve --log other.vkey",
    ),
    command(
        "cosigner status",
        "log.cosigner:status",
        "list the logs that this cosigner has signed, with their sizes",
        "foja cosigner status --json",
    ),
    command(
        "cosigner key",
        "log.cosigner:key",
        "print the public key of this cosigner, which is created on first use",
        "foja cosigner key --name cosigner.example.com > cosigner.vkey\n"
        "foja verify contract.asice --trust foja.vkey --trust cosigner.vkey",
        NAME,
        ALGORITHM,
    ),
    command(
        "cosigner serve",
        "log.cosigner:serve",
        "sign checkpoints of known logs over HTTP until stopped",
        "foja cosigner serve --log other.vkey\n"
        "foja cosigner serve --log 'name+id+key' --log other.vkey --port 3162\n"
        'FOJA_COSIGNERS="http://127.0.0.1:3162 $(foja cosigner key)" foja up      in another installation',
        Argument(
            "--log VKEY|FILE...",
            "the public key of a log to sign for; may be repeated",
            parameter="logs",
            required=True,
        ),
        NAME,
        ALGORITHM,
        Argument(
            "--restart ORIGIN...",
            "the origin line of a restart to accept although it names another head than was seen last: a log"
            " that was restored from a backup; may be repeated",
            parameter="restarts",
        ),
        Argument(
            "--moved", "confirm that the folder was moved here and is the newest; never for one from a backup"
        ),
        LISTEN,
        Argument("--port PORT", "the port (3162); 0 for any free one", port, default=3162),
        EXPOSE,
    ),
)
