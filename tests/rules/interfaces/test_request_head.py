"""The head of a request names one host, and who sends it once."""

from __future__ import annotations

import pytest

from foja.interfaces.web.head import check_head
from foja.interfaces.web.problems import Rejected

HOST = (b"host", b"localhost:8000")


@pytest.mark.parametrize(
    "host", [b"localhost", b"127.0.0.1:8000", b"[::1]:8000", b"a-b_c.example.org.", b"", b"x:"]
)
def test_a_host_is_a_name_or_an_address_with_or_without_a_port(host: bytes) -> None:
    check_head([(b"accept", b"*/*"), (b"host", host)], "1.1")


@pytest.mark.parametrize(
    "host", [b"localhost:1@evil.example", b"a/b", b"a b", b'">', b"[::1", b"x:y", b"a,b"]
)
def test_another_host_is_refused(host: bytes) -> None:
    with pytest.raises(Rejected, match="not a name"):
        check_head([(b"host", host)], "1.1")


def test_a_host_is_required_since_http_1_1() -> None:
    check_head([], "1.0")
    with pytest.raises(Rejected, match="missing"):
        check_head([], "1.1")


@pytest.mark.parametrize("name", [b"host", b"authorization", b"origin", b"idempotency-key"])
def test_what_decides_about_access_or_is_a_key_is_sent_once(name: bytes) -> None:
    with pytest.raises(Rejected, match="repeated"):
        check_head([HOST, (name, b"a"), (name, b"a")], "1.1")


def test_other_headers_may_be_repeated() -> None:
    check_head([HOST, (b"accept", b"a"), (b"accept", b"b")], "1.1")
