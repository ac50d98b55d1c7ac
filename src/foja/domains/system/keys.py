"""Signing keys that came into use, recorded in the installation's own stream.

A key is made durable first and recorded afterwards. After a crash between the two it is in use and not
recorded: the next rotation or the next worker finds it and records it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from foja.domains.system.service import System
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.embedded.signing_keys import PURPOSE, SigningKey, SigningKeys, rotation
from foja.engine.faults import Watch
from foja.errors import IdempotencyConflict, SetupFailed


@dataclass(frozen=True, slots=True)
class KeyRecorder:
    """Records each key of the home that the stream does not have yet."""

    system: System
    database: Database
    keys: SigningKeys
    _watch: Watch = field(default_factory=lambda: Watch("record signing keys"))

    async def recorded(self) -> Mapping[str, datetime]:
        """Return when each key was recorded, by its id."""
        return dict(await self.database.rows(sql.query("recorded_keys"), purpose=PURPOSE))

    async def record(self, actor: str | None = None) -> int:
        """Record the keys that are not recorded, oldest first; return how many. Raise if one is damaged."""
        keys = await asyncio.to_thread(self.keys.all)
        if not keys:
            return 0
        known = await self.recorded()
        pairs: list[SigningKey | None] = [None, *keys]
        new = [(before, key) for before, key in pairwise(pairs) if key and key.id not in known]
        for before, key in new:
            with suppress(IdempotencyConflict):  # another process recorded it meanwhile, under its own name
                await self.system.rotate_key(**rotation(before, key), actor=actor)
        return len(new)

    async def attend(self) -> int:
        """Do the same as a chore: a damaged key is logged once, and nothing else waits for it."""
        try:
            done = await self.record()
        except SetupFailed as error:
            self._watch.failed(error)
            return 0
        self._watch.worked()
        return done
