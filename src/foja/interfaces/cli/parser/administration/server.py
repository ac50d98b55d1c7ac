"""The parsers of `foja backup`, `restore`, `psql` and `keys`."""

from __future__ import annotations

from pathlib import Path

from foja.interfaces.cli.parser.values import any_text, path
from foja.interfaces.cli.parser.verbs import Verbs, add_actor, add_force


def add_backup(verbs: Verbs) -> None:
    """Add the verb `backup`."""
    backup = verbs.add(
        "server.backup:backup",
        "write database, objects, log and keys to one file, while everything runs",
        "  foja backup -o /backups                      a new file, named by the time\n"
        "  foja backup -o today.tar --without-objects   the store is copied by other means\n"
        "  foja backup -o - | age -r KEY > today.age    encrypted",
    )
    backup.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE|FOLDER",
        required=True,
        help="the file to write, or a folder for it; - for standard output",
    )
    backup.add_argument("--without-objects", action="store_true", help="leave out the store: objects and log")
    backup.add_argument(
        "--skip-missing",
        action="store_true",
        help="leave out objects that the store lacks, and say so",
    )
    add_force(backup)


def add_restore(verbs: Verbs) -> None:
    """Add the verb `restore`."""
    restore = verbs.add(
        "server.restore:restore",
        "restore a backup into an empty home and an empty database",
        "  foja restore today.tar --home /srv/foja\n"
        "  foja restore today.tar --check               only compare every digest\n"
        "  foja restore today.tar --home /srv/foja --database-url postgresql://… --continue-log\n"
        "                                               move a stopped installation to a server of your own",
    )
    restore.add_argument("file", type=path, metavar="FILE", help="what `foja backup` wrote")
    restore.add_argument("--check", action="store_true", help="only check the file, and restore nothing")
    restore.add_argument(
        "--continue-log",
        action="store_true",
        help="continue the log: only if the old installation never publishes anything after the backup",
    )


def add_psql(verbs: Verbs) -> None:
    """Add the verb `psql`."""
    psql = verbs.add(
        "server.psql:psql",
        "open psql as the administrator or as a role; everything after `--` is passed on",
        "  foja psql\n"
        "  foja psql -c 'select count(*) from foja.event'\n"
        "  foja psql --role service_role -- --csv -c 'select * from products'",
    )
    psql.add_argument("-c", "--command", action="append", default=[], metavar="SQL", help="run this and end")
    psql.add_argument("--role", help="act as this role, such as service_role, instead of the administrator")
    psql.add_argument("arguments", nargs="*", type=any_text, metavar="ARGUMENT", help="an argument of psql")


def add_keys(verbs: Verbs) -> None:
    """Add the verb `keys` and its verbs; without a verb the keys are listed."""
    keys = verbs.add(
        "server.keys:listing",
        "list, rotate and export the keys that sign the entries of this installation in Rekor",
        "  foja keys\n  foja keys --json",
        name="keys",
    )
    inner = Verbs(keys)
    inner.add(
        "server.keys:listing", "list the signing keys, oldest first", "  foja keys list --json", name="list"
    )
    rotate = inner.add(
        "server.keys:rotate",
        "make a new signing key, use it from now on and record that; earlier ones are kept",
        "  foja keys rotate",
    )
    add_actor(rotate)
    export = inner.add(
        "server.keys:export",
        "print the public signing keys, as `foja verify --trust` takes them",
        "  foja keys export -o signer.pem\n  foja keys export 9f86d081",
    )
    export.add_argument("key", nargs="?", metavar="ID", help="only the key whose id begins so")
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="write them to a file")
    add_force(export)
