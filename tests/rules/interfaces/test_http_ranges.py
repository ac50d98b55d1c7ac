"""Ranges, conditions and token buckets: pure rules of the HTTP server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.interfaces.web.limits.bucket import Bucket
from foja.interfaces.web.transfer.files import attachment
from foja.interfaces.web.transfer.ranges import Span, Unsatisfiable, matches, requested_span

TAG = '"t"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes=0-0", Span(0, 1)),
        ("bytes=0-", Span(0, 10)),
        ("bytes=9-", Span(9, 10)),
        ("bytes=3-100", Span(3, 10)),
        ("bytes=-3", Span(7, 10)),
        ("bytes=-100", Span(0, 10)),
        ("BYTES=1-2", Span(1, 3)),
        ("bytes=5-4", None),
        ("bytes=-", None),
        ("bytes=", None),
        ("bytes=0-1,3-4", None),
        ("items=0-1", None),
        ("bytes=a-b", None),
        ("bytes=0-99999999999999999999", None),
    ],
)
def test_a_range_is_a_part_or_the_whole(text: str, expected: Span | None) -> None:
    assert requested_span({"range": text}, 10, TAG) == expected


@pytest.mark.parametrize("text", ["bytes=10-", "bytes=10-20", "bytes=-0"])
def test_a_range_after_the_end_is_unsatisfiable(text: str) -> None:
    with pytest.raises(Unsatisfiable):
        requested_span({"range": text}, 10, TAG)


def test_a_range_of_another_version_is_the_whole() -> None:
    asked = {"range": "bytes=0-1", "if-range": '"other"'}
    assert requested_span(asked, 10, TAG) is None
    assert requested_span({**asked, "if-range": TAG}, 10, TAG) == Span(0, 2)


@given(st.text(max_size=30), st.integers(0, 100))
def test_no_range_makes_it_fail(text: str, size: int) -> None:
    try:
        span = requested_span({"range": text}, size, TAG)
    except Unsatisfiable:
        return
    assert span is None or 0 <= span.start < span.stop <= size


@pytest.mark.parametrize(
    ("given_tags", "expected"),
    [(TAG, True), (f"W/{TAG}", True), ('"a", "t"', True), ("*", True), ('"a"', False), ("", False)],
)
def test_tags_are_compared(given_tags: str, expected: bool) -> None:
    assert matches({"if-none-match": given_tags}, TAG) is expected
    assert not matches({"if-none-match": given_tags}, None)


@given(st.text())
def test_a_name_of_a_file_adds_no_header(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    text = attachment(name)
    text.encode("latin-1")
    assert not set(text) & set("\r\n\0")
    assert text.count('"') == 2


@given(st.lists(st.floats(0, 5), max_size=200), st.floats(0.5, 50), st.integers(1, 20))
def test_a_bucket_never_gives_more_than_rate_and_burst(steps: list[float], rate: float, burst: int) -> None:
    bucket, now, given_tokens = Bucket(rate, burst, burst, 0.0), 0.0, 0
    for step in steps:
        now += step
        wait = bucket.take(now)
        given_tokens += not wait
        assert wait >= 0
        assert given_tokens <= burst + rate * now + 1e-6
