"""Which settings a network still needs before anything can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foja.settings import Settings

# What has to be set, and the settings of which one is enough.
NEEDED: Mapping[str, Mapping[str, Sequence[str]]] = {
    "polygon": {
        "FOJA_POLYGON_RPC_URL": ("polygon_rpc_url",),
        "one of FOJA_POLYGON_PRIVATE_KEY, FOJA_POLYGON_KEY_FILE, FOJA_POLYGON_KEYSTORE "
        "(with FOJA_POLYGON_KEYSTORE_PASSWORD_FILE) or FOJA_POLYGON_SIGNER_URL (with FOJA_POLYGON_ACCOUNT)": (
            "polygon_private_key",
            "polygon_key_file",
            "polygon_keystore",
            "polygon_signer_url",
        ),
    },
    "bitcoin": {
        "FOJA_OTS_CALENDARS": ("ots_calendars",),
        "FOJA_BITCOIN_RPC_URL or FOJA_BITCOIN_HEADER_URLS": ("bitcoin_rpc_url", "bitcoin_header_urls"),
    },
    "rekor": {"FOJA_REKOR_URL": ("rekor_url",), "FOJA_REKOR_KEY": ("rekor_key",)},
}
# What goes only with another one.
COMPANIONS = {
    "polygon_keystore": ("polygon_keystore_password_file", "FOJA_POLYGON_KEYSTORE_PASSWORD_FILE"),
    "polygon_signer_url": ("polygon_account", "FOJA_POLYGON_ACCOUNT"),
}


def missing_settings(settings: Settings, network: str) -> list[str]:
    """Return what is not set and has to be, as words that name the settings."""
    needed = NEEDED[network].items()
    missing = [words for words, names in needed if not any(getattr(settings, name) for name in names)]
    return missing + [
        words
        for name, (companion, words) in COMPANIONS.items()
        if name.startswith(network) and getattr(settings, name) and not getattr(settings, companion)
    ]
