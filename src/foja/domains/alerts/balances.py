"""Ask now and then what the accounts of networks have, so that an alert comes before they are empty."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping

from foja.engine import sql
from foja.engine.anchors.network import Network
from foja.engine.driver.database import Database
from foja.errors import FojaError

EVERY_SECONDS = 600.0
ASK_SECONDS = 20.0
log = logging.getLogger("foja.alerts")


class Balances:
    """Remembers the balance of each network that has an account."""

    def __init__(self, database: Database, networks: Mapping[str, Network]) -> None:
        self._database, self._networks = database, networks
        self._asked = float("-inf")

    async def note(self) -> None:
        """Ask the networks, at most every ten minutes. One that does not answer keeps its last balance."""
        if time.monotonic() - self._asked < EVERY_SECONDS:
            return
        self._asked = time.monotonic()
        for name, network in self._networks.items():
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    found = (await network.check()).found
            except (TimeoutError, FojaError) as error:
                log.debug("the balance at %s is not known: %s", name, error)
                continue
            if found.get("price") and found.get("balance") is not None:
                amounts = {"balance": found["balance"], "price": found["price"]}
                await self._database.rows(sql.query("note_balance"), network=name, **amounts)
