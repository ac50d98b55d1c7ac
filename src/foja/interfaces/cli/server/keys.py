"""`foja keys`: the keys that sign what a transparency log records; list, rotate and export them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeAlias

from foja.engine.embedded.signing_keys import PURPOSE, SigningKey, SigningKeys
from foja.errors import FojaError
from foja.interfaces.cli.installation import is_installed, open_database, open_to_write, read_settings
from foja.interfaces.cli.output import print_error, print_or_write, print_result, table

NONE = "there is no signing key yet; the first anchor makes one"
HEAD = ("number", "id", "created", "retired", "recorded")
Recorded: TypeAlias = Mapping[str, datetime]  # when the ledger got `key.rotated`, by the id of the key


async def listing(arguments: Namespace) -> None:
    """Print every key with its id and its times, oldest first."""
    keys = _keys(arguments).all()
    recorded = await _recorded(arguments) if keys else {}
    lines = table(HEAD, [_row(key, recorded) for key in keys], NONE)
    print_result(arguments, [_document(key, recorded) for key in keys], *lines)


async def rotate(arguments: Namespace) -> None:
    """Make a new key, use it from now on, and record that; earlier ones are kept."""
    keys = _keys(arguments)
    before = keys.all()[-1:]
    key = keys.rotate()  # durable from here on: it is recorded now, or by the next rotation or worker
    recorded = await _record(arguments)
    kept = f"; {before[0].id} is kept, and what it signed stays valid" if before else ""
    remark = "" if key.id in recorded else "the ledger does not have it yet; a worker records it"
    advice = "give the output of `foja keys export` to those who verify"
    lines = [f"the signing key is now {key.id}{kept}", *([remark] if remark else []), advice]
    print_result(arguments, _document(key, recorded), *lines)


def export(arguments: Namespace) -> None:
    """Print the public keys as PEM: of one key, or of all."""
    keys = _keys(arguments)
    keys.current()  # made on first use, so that it can be handed out before the first anchor
    found = [keys.find(arguments.key)] if arguments.key else keys.all()
    print_or_write(arguments, "keys", "".join(map(_export, found)), "`foja verify --trust` takes it as it is")


def _keys(arguments: Namespace) -> SigningKeys:
    return SigningKeys(read_settings(arguments).home)


async def _record(arguments: Namespace) -> Recorded:
    """Record the keys that the ledger does not have, if there is one; return when each was recorded."""
    if not is_installed(read_settings(arguments)):
        return {}
    try:
        async with open_to_write(arguments, existing=True) as app:
            await app.signing_keys.record(arguments.actor)
            return await app.signing_keys.recorded()
    except FojaError as error:
        print_error(f"the key is made and in use, but not recorded yet: {error}")
        return {}


async def _recorded(arguments: Namespace) -> Recorded:
    """Return when each key was recorded; of none if the ledger cannot be read."""
    from foja.engine.observe.snapshot import snapshot

    if not is_installed(read_settings(arguments)):
        return {}
    try:
        async with open_database(arguments) as url, snapshot(url) as moment:
            return {key: at async for key, at in moment.rows("recorded_keys", purpose=PURPOSE)}
    except FojaError as error:
        print_error(f"it is not known which keys are recorded: {error}")
        return {}


def _row(key: SigningKey, recorded: Recorded) -> tuple[object, ...]:
    times = (key.created_at, key.retired_at, recorded.get(key.id))
    return str(key.number), key.id, *map(_time, times)


def _document(key: SigningKey, recorded: Recorded) -> dict[str, object]:
    return {
        "number": key.number,
        "id": key.id,
        "created_at": key.created_at,
        "retired_at": key.retired_at,
        "recorded_at": recorded.get(key.id),
        "public_key": key.public_pem(),
    }


def _export(key: SigningKey) -> str:
    until = f"until {_time(key.retired_at)}" if key.retired_at else "in use"
    return f"# {key.id}, since {_time(key.created_at)}, {until}\n{key.public_pem()}"


def _time(moment: datetime | None) -> str | None:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if moment else None
