"""Signatures, addresses, addresses of servers, schedules: the rules of webhooks."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from ipaddress import IPv4Address, ip_address, ip_network
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook as Reference
from standardwebhooks.webhooks import WebhookVerificationError

from foja.errors import BadPayload, SetupFailed
from foja.pure.models.webhooks.addresses import is_listed, parse_networks, refusal_of
from foja.pure.models.webhooks.message import Delivery
from foja.pure.models.webhooks.rules import check_kinds, check_url, delay_after
from foja.pure.models.webhooks.signature import decode_secret, encode_secret, sign


def now() -> int:
    """Return the time when a test runs: the library refuses what was signed five minutes ago."""
    return int(datetime.now(UTC).timestamp())


@given(st.binary(min_size=24, max_size=64), st.text(), st.uuids())
def test_the_reference_library_accepts_what_is_signed(secret: bytes, body: str, message: UUID) -> None:
    text = f'{{"x": {len(body)}}}'
    headers = dict(sign([secret], str(message), now(), text.encode()))
    assert Reference(encode_secret(secret)).verify(text, headers) == {"x": len(body)}
    assert decode_secret(encode_secret(secret)) == secret


def test_a_rotation_has_two_signatures_and_each_secret_accepts() -> None:
    old, new, other = (os.urandom(32) for _ in range(3))
    headers = dict(sign([new, old], "m", now(), b"{}"))
    for secret in (old, new):
        Reference(encode_secret(secret)).verify("{}", headers)
    with pytest.raises(WebhookVerificationError):
        Reference(encode_secret(other)).verify("{}", headers)
    with pytest.raises(WebhookVerificationError):
        Reference(encode_secret(new)).verify("{ }", headers)


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_!!", "sk_" + "A" * 32, "whsec_" + "A" * 20, "A" * 44])
def test_a_bad_secret_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadPayload) as refused:
        decode_secret(text)
    assert len(text) < 10 or text not in str(refused.value)


PRIVATE = """
127.0.0.1 127.8.8.8 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254
100.64.0.1 100.127.255.254 192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.7
203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 ::1 :: ::ffff:127.0.0.1 ::ffff:10.0.0.1
::ffff:169.254.169.254 ::127.0.0.1 fe80::1 fe80::1%eth0 fc00::1 fd12:3456::1 ff02::1 2001:db8::1 2001::1
2002:7f00:1::1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 fec0::1 3fff::1 5f00::1 not-an-address localhost
"""


@pytest.mark.parametrize("address", PRIVATE.split())
def test_nothing_is_sent_to_an_address_that_is_not_public(address: str) -> None:
    assert refusal_of(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert refusal_of(address) is None


@given(st.ip_addresses())
def test_no_address_passes_that_python_calls_private(address: object) -> None:
    found = ip_address(str(address))
    plain = getattr(found, "ipv4_mapped", None) or found
    if refusal_of(str(address)) is None:
        assert plain.is_global
        assert not plain.is_multicast


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_as_what_it_means(address: IPv4Address) -> None:
    assert refusal_of(f"::ffff:{address}") == refusal_of(str(address))


def test_a_listed_network_is_allowed_and_no_other() -> None:
    networks = parse_networks("10.1.0.0/16, fd00::/8")
    assert networks == [ip_network("10.1.0.0/16"), ip_network("fd00::/8")]
    assert refusal_of("10.1.2.3", networks) is None
    assert refusal_of("::ffff:10.1.2.3", networks) is None
    assert refusal_of("fd00::5", networks) is None
    assert refusal_of("10.2.0.1", networks) == "private"
    assert not is_listed("1.1.1.1", networks)
    with pytest.raises(SetupFailed, match="FOJA_WEBHOOK_NETWORKS"):
        parse_networks("10.1.2.3/16")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x",
        "ftp://example.org",
        "https://",
        "https://user:pass@example.org/",
        "https://user@example.org/",
        "https://example.org/#part",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "https://169.254.169.254/latest",
        "https://exämple.org/",
        "https://example.org/a b",
        "https://example.org:99999/",
        "https://[::1",
        "",
    ],
)
def test_these_addresses_of_servers_are_refused(url: str) -> None:
    with pytest.raises(BadPayload):
        check_url(url, [])


def test_plain_http_needs_a_listed_network() -> None:
    networks = parse_networks("127.0.0.0/8")
    assert check_url("http://127.0.0.1:8080/x", networks)
    assert check_url("https://example.org/x?key=1", []) == "https://example.org/x?key=1"


def test_kinds_are_names_or_beginnings() -> None:
    assert check_kinds(["document.*", "*", "document.*", "user_message_sent"]) == [
        "document.*",
        "*",
        "user_message_sent",
    ]
    assert check_kinds("document.*") == ["document.*"]
    for wrong in ("", "Document", "a*b", "**", "x y", "'; drop"):
        with pytest.raises(BadPayload):
            check_kinds([wrong])


def test_the_pauses_grow_and_a_receiver_can_ask_for_longer_ones() -> None:
    delays = [delay_after(attempts) for attempts in range(1, 15)]
    assert delays == sorted(delays)
    assert delays[0] == 5
    assert delays[-1] == 28_800
    assert delay_after(1, asked=60) == 60
    assert delay_after(3, asked=1) == 120
    assert delay_after(1, asked=10**9) == 28_800


def test_the_payload_is_sent_only_if_it_is_asked_for() -> None:
    fields = (
        UUID(int=1),
        1,
        UUID(int=2),
        "https://x",
        (b"",),
        0,
        "acme",
        UUID(int=3),
        4,
        UUID(int=5),
        "note.added",
    )
    rest = (1, datetime(2026, 1, 2, tzinfo=UTC), "ana", "api")
    short = Delivery(*fields, *rest, False, {"secret": "no"})
    assert b"secret" not in short.body()
    assert b"ana" not in short.body()
    assert b'"payload":{"secret":"\xc3\xb1"}' in Delivery(*fields, *rest, True, {"secret": "ñ"}).body()
