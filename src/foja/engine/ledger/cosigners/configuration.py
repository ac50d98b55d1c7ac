"""The cosigners that the settings name, and how many of them a proof needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foja.engine.settings import Settings
from foja.errors import Refused, SetupFailed
from foja.pure.proofs.cosignature import MAX_COSIGNERS, CosignerKey, parse_cosigner_key, parse_policy

_FORMAT = "write the address and the key of each: https://a.example name+id+key"


@dataclass(frozen=True, slots=True)
class NamedCosigner:
    """Where a cosigner is asked, and the key that it signs with."""

    url: str = field(repr=False)
    key: CosignerKey


@dataclass(frozen=True, slots=True)
class Quorum:
    """How many of these keys must have signed the checkpoint of a proof."""

    keys: tuple[bytes, ...]
    required: int
    patience_seconds: float  # how long an artifact waits for them


def read_cosigners(settings: Settings) -> list[NamedCosigner]:
    """Return the cosigners of the settings, or raise `SetupFailed`."""
    words = settings.cosigners.split()
    if len(words) % 2 or not all(each.startswith(("http://", "https://")) for each in words[::2]):
        raise SetupFailed(f"FOJA_COSIGNERS is not valid; {_FORMAT}")
    try:
        found = [
            NamedCosigner(url, parse_cosigner_key(vkey))
            for url, vkey in zip(words[::2], words[1::2], strict=True)
        ]
    except Refused as error:
        raise SetupFailed(f"FOJA_COSIGNERS is not valid: {error}; {_FORMAT}") from None
    if len({each.key.public_key for each in found}) != len(found):
        raise SetupFailed("FOJA_COSIGNERS names one key twice; a key counts once, so name it once")
    if len(found) > MAX_COSIGNERS:
        raise SetupFailed(f"FOJA_COSIGNERS names more than {MAX_COSIGNERS} cosigners; name fewer")
    return found


def read_quorum(settings: Settings, cosigners: Sequence[NamedCosigner]) -> Quorum | None:
    """Return what the settings require of a proof, or None; raise `SetupFailed` if that is not valid."""
    if not settings.cosigner_policy:
        return None
    keys = [each.key for each in cosigners]
    try:
        policy = parse_policy(settings.cosigner_policy, keys)
    except Refused as error:
        raise SetupFailed(f"FOJA_COSIGNER_POLICY is not valid: {error}") from None
    patience = 2 * (settings.cosigner_timeout_seconds + settings.checkpoint_seconds)
    return Quorum(tuple(each.public_key for each in keys), policy.required, patience)
