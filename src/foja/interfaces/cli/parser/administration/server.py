"""The commands `foja backup`, `restore`, `psql` and `keys`."""

from __future__ import annotations

from pathlib import Path

from foja.interfaces.cli.parser.commands import ACTOR, FORCE, Argument, command
from foja.interfaces.cli.parser.values import any_text, path

COMMANDS = (
    command(
        "backup",
        "server.backup:backup",
        "write database, objects, log and keys to one file, while everything runs",
        "foja backup -o /backups                      a new file, named by the time\n"
        "foja backup -o today.tar --without-objects   the store is copied by other means\n"
        "foja backup -o - | age -r KEY > today.age    encrypted",
        Argument(
            "-o --output FILE|FOLDER",
            "the file to write, or a folder for it; - for standard output",
            Path,
            required=True,
        ),
        Argument("--without-objects", "leave out the store: objects and log"),
        Argument("--skip-missing", "leave out objects that the store lacks, and say so"),
        FORCE,
    ),
    command(
        "restore",
        "server.restore:restore",
        "restore a backup into an empty home and an empty database",
        "foja restore today.tar --home /srv/foja\n"
        "foja restore today.tar --check               only compare every digest\n"
        "foja restore today.tar --home /srv/foja --database-url postgresql://… --continue-log\n"
        "                                             move a stopped installation to a server of your own",
        Argument("FILE", "what `foja backup` wrote", path),
        Argument("--check", "only check the file, and restore nothing"),
        Argument(
            "--continue-log",
            "continue the log: only if the old installation never publishes anything after the backup",
        ),
    ),
    command(
        "psql",
        "server.psql:psql",
        "open psql as the administrator or as a role; everything after `--` is passed on",
        "foja psql\n"
        "foja psql -c 'select count(*) from foja.event'\n"
        "foja psql --role service_role -- --csv -c 'select * from products'",
        Argument("-c --command SQL...", "run this and end"),
        Argument("--role ROLE", "act as this role, such as service_role, instead of the administrator"),
        Argument("[ARGUMENT...]", "an argument of psql", any_text, "arguments"),
    ),
    command(
        "keys",
        "server.keys:listing",
        "list, rotate and export the keys that sign the entries of this installation in Rekor",
        "foja keys\nfoja keys --json",
    ),
    command(
        "keys list", "server.keys:listing", "list the signing keys, oldest first", "foja keys list --json"
    ),
    command(
        "keys rotate",
        "server.keys:rotate",
        "make a new signing key, use it from now on and record that; earlier ones are kept",
        "foja keys rotate",
        ACTOR,
    ),
    command(
        "keys export",
        "server.keys:export",
        "print the public signing keys, as `foja verify --trust` takes them",
        "foja keys export -o signer.pem\nfoja keys export 9f86d081",
        Argument("[ID]", "only the key whose id begins so", parameter="key"),
        Argument("-o --output FILE", "write them to a file", Path),
        FORCE,
    ),
)
