"""The networks of an installation, as its settings have them. Only those are imported."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from foja.engine.anchors.network import Network
from foja.engine.settings import Settings
from foja.pure.proofs.tsa import Terms

POLYGON: Final = "polygon"
BITCOIN: Final = "bitcoin"
REKOR: Final = "rekor"


def open_networks(
    settings: Settings, stamp: Callable[[bytes], Awaitable[bytes]], timestamps: Terms
) -> Mapping[str, Network]:
    """Return each network that the settings name. `stamp` returns a token over a digest."""
    opened: dict[str, Callable[[], Network]] = {
        POLYGON: lambda: _polygon(settings),
        BITCOIN: lambda: _bitcoin(settings),
        REKOR: lambda: _rekor(settings, stamp, timestamps),
    }
    return {name: opened[name]() for name in names_of(settings)}


def names_of(settings: Settings) -> list[str]:
    """Return the names of the networks that the settings name."""
    named = {
        POLYGON: settings.polygon_rpc_url,
        BITCOIN: settings.ots_calendars,
        REKOR: settings.rekor_url and settings.rekor_key,
    }
    return [name for name, value in named.items() if value]


def _polygon(settings: Settings) -> Network:
    from foja.engine.anchors.polygon import Polygon, PolygonTerms

    terms = PolygonTerms(
        rpc_urls=_list(settings.polygon_rpc_url),
        private_key=settings.polygon_private_key,
        key_file=_path(settings.polygon_key_file),
        keystore=_path(settings.polygon_keystore),
        keystore_password_file=_path(settings.polygon_keystore_password_file),
        signer_url=settings.polygon_signer_url,
        account=settings.polygon_account,
        max_fee_gwei=settings.polygon_max_fee_gwei,
        priority_fee_gwei=settings.polygon_priority_fee_gwei,
        depth=settings.polygon_depth,
        replace_after_seconds=settings.polygon_replace_after_seconds,
    )
    return Polygon(terms)


def _bitcoin(settings: Settings) -> Network:
    from foja.engine.anchors.bitcoin import Bitcoin, BitcoinTerms

    terms = BitcoinTerms(
        calendars=_list(settings.ots_calendars),
        rpc_urls=_list(settings.bitcoin_rpc_url),
        header_urls=_list(settings.bitcoin_header_urls),
        network=settings.bitcoin_network,
        confirmations=settings.bitcoin_confirmations,
    )
    return Bitcoin(terms)


def _rekor(settings: Settings, stamp: Callable[[bytes], Awaitable[bytes]], timestamps: Terms) -> Network:
    from foja.engine.anchors.rekor import Rekor, RekorTerms
    from foja.engine.anchors.rekor.log import log_key
    from foja.engine.embedded.signing_keys import SigningKeys

    terms = RekorTerms(
        url=settings.rekor_url,
        log=log_key(settings.rekor_key, settings.rekor_url),
        keys=SigningKeys(settings.home),
        stamp=stamp,
        timestamps=timestamps,
        read_url=settings.rekor_read_url,
    )
    return Rekor(terms)


def _list(text: str) -> tuple[str, ...]:
    """Return the parts of a setting, separated by spaces or commas; the same server is named once."""
    return tuple(dict.fromkeys(filter(None, re.split(r"[\s,]+", text))))


def _path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None
