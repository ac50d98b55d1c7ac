"""DER has one encoding per value; every other is refused, and nothing is read beyond its end."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from asn1crypto import core
from hypothesis import example, given
from hypothesis import strategies as st

from foja.errors import Malformed
from foja.pure.proofs.der import (
    CACHE_ENTRY_BYTES,
    OCTETS,
    OID,
    SEQUENCE,
    TIME,
    DerReader,
    cached,
    dotted,
    element,
    integer,
    oid,
    oid_content,
    sequence,
    set_of,
)

ARCS = st.tuples(st.integers(0, 2), st.integers(0, 39), st.lists(st.integers(0, 2**64), max_size=5))


@given(st.integers(-(2**500), 2**500))
@example(-128)
@example(-(2**503))
def test_integers_are_written_as_others_write_them(value: int) -> None:
    assert integer(value) == core.Integer(value).dump()
    assert DerReader(integer(value)).integer() == value


@given(st.binary(max_size=70_000))
def test_lengths_are_written_as_others_write_them(data: bytes) -> None:
    assert element(OCTETS, data) == core.OctetString(data).dump()
    assert DerReader(element(OCTETS, data)).take(OCTETS) == data


@given(ARCS)
def test_object_identifiers_are_written_as_others_write_them(arcs: tuple[int, int, list[int]]) -> None:
    text = ".".join(map(str, (arcs[0], arcs[1], *arcs[2])))
    assert oid(text) == core.ObjectIdentifier(text).dump()
    assert dotted(oid_content(text)) == text


def test_a_set_is_sorted() -> None:
    assert set_of(integer(2), integer(1)) == set_of(integer(1), integer(2))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x30",
        b"\x30\x01",
        b"\x30\x80\x00\x00",  # indefinite length
        b"\x30\x81\x01\x00",  # not the shortest length
        b"\x30\x82\x00\x81" + bytes(0x81),  # padded
        b"\x30\x85\x00\x00\x00\x00\x01\x00",
        b"\x30\x84\xff\xff\xff\xff",
        b"\x31\x00",
    ],
)
def test_a_malformed_sequence_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        DerReader(data).enter(SEQUENCE)


@pytest.mark.parametrize(
    "data", [b"\x02\x00", b"\x02\x02\x00\x01", b"\x02\x02\xff\xff", b"\x02\x41" + b"\x01" * 65]
)
def test_an_integer_has_one_encoding(data: bytes) -> None:
    with pytest.raises(Malformed):
        DerReader(data).integer()


@pytest.mark.parametrize("content", [b"", b"\x80\x01", b"\x2a\x86", b"\x2a" * 65])
def test_an_object_identifier_has_one_encoding(content: bytes) -> None:
    with pytest.raises(Malformed):
        DerReader(element(OID, content)).oid()


@pytest.mark.parametrize(
    ("text", "microseconds"), [("", 0), (".1", 100_000), (".123456", 123_456), (".1234567891", 123_456)]
)
def test_a_time_keeps_its_fraction(text: str, microseconds: int) -> None:
    found = DerReader(element(TIME, f"20260301120000{text}Z".encode())).time()
    assert found == datetime(2026, 3, 1, 12, 0, 0, microseconds, UTC)


@pytest.mark.parametrize(
    "text",
    ["", "20260301120000", "202603011200Z", "20261301120000Z", "20260301120000+0100", "20260301120060Z"],
)
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(Malformed):
        DerReader(element(TIME, text.encode())).time()


def test_an_element_ends_where_its_parent_ends() -> None:
    inner = DerReader(b"\x30\x02\x04\x02" + b"ab").enter(SEQUENCE)
    with pytest.raises(Malformed):
        inner.take(OCTETS)


def test_what_is_left_over_is_refused() -> None:
    outer = DerReader(sequence() + b"\x00")
    outer.enter(SEQUENCE)
    with pytest.raises(Malformed):
        outer.finish()


def test_into_refuses_what_follows_the_element() -> None:
    assert DerReader(sequence(element(OCTETS, b"ab"))).into(SEQUENCE).into(OCTETS).rest == b"ab"
    with pytest.raises(Malformed, match="more"):
        DerReader(sequence(element(OCTETS, b"ab"), b"\x00")).into(SEQUENCE).into(OCTETS)
    with pytest.raises(Malformed, match="tag 0x30"):
        DerReader(element(OCTETS, b"ab")).into(SEQUENCE)


@given(st.lists(st.integers(-300, 300), max_size=400))
def test_a_cached_result_is_the_one_that_was_read(values: list[int]) -> None:
    @cached(SEQUENCE)
    def read(parts: DerReader) -> int:
        found = parts.integer()
        parts.finish()
        return found

    for value in values:
        assert read(DerReader(sequence(integer(value)))) == value
    with pytest.raises(Malformed):
        read(DerReader(sequence(integer(7), b"\x00")))


def test_the_same_bytes_are_read_once_unless_they_are_refused_or_long() -> None:
    uncached = list[bytes]()

    @cached(SEQUENCE)
    def read(parts: DerReader) -> bytes:
        uncached.append(parts.rest)
        return parts.take(OCTETS)

    good, bad = element(OCTETS, b"ab"), integer(1)
    long = element(OCTETS, bytes(CACHE_ENTRY_BYTES))
    for _ in range(2):
        assert read(DerReader(sequence(good))) == b"ab"
        assert read(DerReader(sequence(long))) == bytes(CACHE_ENTRY_BYTES)
        with pytest.raises(Malformed):
            read(DerReader(sequence(bad)))
    assert uncached == [good, long, bad, long, bad]


def test_reading_continues_after_a_cached_element() -> None:
    @cached(SEQUENCE)
    def read(parts: DerReader) -> int:
        return parts.integer()

    for _ in range(2):
        parts = DerReader(sequence(integer(1)) + sequence(integer(1)) + integer(2))
        assert (read(parts), read(parts), parts.integer()) == (1, 1, 2)
        with pytest.raises(Malformed, match="at byte 2"):
            read(DerReader(sequence(element(OCTETS, b"x"))))
