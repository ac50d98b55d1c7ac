"""`foja images render`: let a worker make variants again."""

from __future__ import annotations

from argparse import Namespace

from foja.interfaces.cli.installation import open_to_write
from foja.interfaces.cli.output import print_result


async def render(arguments: Namespace) -> None:
    """Queue one image, or all whose last job failed or was skipped."""
    async with open_to_write(arguments, existing=True) as app:
        count = await app.images.render(arguments.image, force=arguments.force)
    line = f"{count:,} images wait for a worker" if count != 1 else "1 image waits for a worker"
    print_result(arguments, {"queued": count}, line)
