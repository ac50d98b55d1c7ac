"""Commands that do one of two acts, by what they are given."""

from __future__ import annotations

from argparse import Namespace
from uuid import UUID

from foja.errors import SetupFailed
from foja.interfaces.cli.acts import act


async def revoke(arguments: Namespace) -> int:
    """Revoke a session, or a key."""
    arguments.operation = "access.revoke_session" if _is_session(arguments.id) else "access.revoke_key"
    arguments.key_id = arguments.session_id = arguments.id
    return await act(arguments)


async def deliveries(arguments: Namespace) -> int:
    """Show one delivery with its attempts, or list them."""
    one = arguments.number is not None
    arguments.operation = "webhooks.delivery" if one else "webhooks.deliveries"
    return await act(arguments)


async def replay(arguments: Namespace) -> int:
    """Deliver one delivery again, or those of a range."""
    if arguments.number is not None:
        if (arguments.first, arguments.last) != (None, None):
            raise SetupFailed("a number names one delivery; leave it out with --first and --last")
        arguments.first = arguments.last = arguments.number
    arguments.operation = "webhooks.replay"
    return await act(arguments)


async def purge(arguments: Namespace) -> int:
    """Purge one object, or what is due."""
    arguments.operation = "maintenance.purge_object" if arguments.sha256 else "maintenance.purge"
    if arguments.sha256 and not arguments.reason:
        raise SetupFailed("a purge of one object needs a reason: give it with --reason")
    if arguments.sha256 and arguments.dry_run:
        raise SetupFailed("--dry-run counts what is due; leave it out with --object")
    return await act(arguments)


def _is_session(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False
