"""Check every stored cosignature against its checkpoint."""

from __future__ import annotations

from foja.engine.observe.fsck.context import CheckContext
from foja.errors import Refused, Tampered
from foja.pure.proofs.cosignature import parse_cosigner_key, read_answer


async def check_cosignatures(context: CheckContext) -> None:
    """Report each cosignature that its cosigner did not make for its checkpoint."""
    async for origin, size, note, line, vkey in context.moment.rows("fsck_cosignatures"):
        context.meter.tick()
        try:
            if note is None or vkey is None:
                raise Tampered("no such checkpoint or cosigner")
            read_answer(note, line, parse_cosigner_key(vkey))
        except (Tampered, Refused) as error:
            expected = f"a cosignature of the checkpoint of {size} leaves of log {origin}"
            context.findings.add("cosignature", expected=expected, found=str(error))
