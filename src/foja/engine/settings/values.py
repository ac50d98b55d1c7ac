"""The types of settings that are text of a certain form, and the checks of each."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from foja.errors import Refused
from foja.pure.core.fields import check_tenant

# What may contain a password or an access key: absent from the settings' repr.
Secret: TypeAlias = Annotated[str, Field(repr=False)]


def _tenant(name: str) -> str:
    try:
        return name and check_tenant(name)
    except Refused as error:
        raise ValueError(str(error)) from None


Tenant: TypeAlias = Annotated[str, AfterValidator(_tenant)]


def _networks(text: str) -> str:
    for each in text.replace(",", " ").split():
        ip_network(each, strict=False)  # its error names what is wrong
    return text


_USUAL_PORTS = {"http": ":80", "https": ":443"}  # a browser leaves out the usual port


def _origins(text: str) -> str:
    for each in text.replace(",", " ").split():
        parts = urlsplit(each)
        if parts.scheme not in ("http", "https") or not parts.hostname or each != each.lower():
            raise ValueError(f"{each} is not an origin; write https://app.example.org, never *")
        if each != f"{parts.scheme}://{parts.netloc}" or parts.username is not None:
            raise ValueError(f"{each} is more than an origin; leave out what follows the host and port")
        if not each.isascii() or parts.netloc.endswith(_USUAL_PORTS[parts.scheme]):
            raise ValueError(
                f"no browser sends {each}; leave out :80 and :443, and write other letters as xn--"
            )
    return text


def _issuer(url: str) -> str:
    parts = urlsplit(url)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if url and not (parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and local))):
        raise ValueError("an https:// address is needed; http:// is accepted for this machine only")
    return url


def _algorithms(text: str) -> str:
    if unknown := sorted(set(text.split()) - SIGNATURES) or ([] if text.split() else ["none"]):
        raise ValueError(f"{unknown[0]} is not accepted; choose from {', '.join(sorted(SIGNATURES))}")
    return text


# Signatures of a key pair only: with a shared secret, the public key could be used as one.
SIGNATURES = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
Origins: TypeAlias = Annotated[str, AfterValidator(_origins)]
Networks: TypeAlias = Annotated[str, AfterValidator(_networks)]
Issuer: TypeAlias = Annotated[str, AfterValidator(_issuer)]
Algorithms: TypeAlias = Annotated[str, AfterValidator(_algorithms)]
