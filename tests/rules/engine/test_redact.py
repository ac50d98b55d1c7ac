"""Messages without secrets, in linear time: they quote what a caller sent."""

from __future__ import annotations

import pytest

from foja.errors import BadPayload, redact

MEGABYTE = 1 << 20
HOSTILE = (
    "x",
    "x-",
    "a://b:",
    "://",
    "http://",
    "http://u",
    "https://a@",
    "password",
    "password ",
    "password='",
    "password='\\'",
    "password='\\",
    "_sig",
    "sig=",
    "@",
    ":@/",
)


@pytest.mark.timeout(120)  # hours, before
@pytest.mark.parametrize("end", ["", "\\", "@", " x://a:b@c"])
@pytest.mark.parametrize("part", HOSTILE)
def test_a_megabyte_of_anything_is_redacted_at_once(part: str, end: str) -> None:
    """An image id of 100,000 letters stopped a process for minutes: the refusal quotes it."""
    BadPayload(part * (MEGABYTE // len(part)) + end)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ana:pa/ss@word@db/x", "postgresql://ana:***@db/x"),
        ("'redis://:secret@h:1/0' failed", "'redis://:***@h:1/0' failed"),
        ("(s3+https://k:v@host) and http://token@h", "(s3+https://k:***@host) and http://***@h"),
        ("mail a:b@c is no address", "mail a:b@c is no address"),
        ("https://host/path@1:2", "https://host/path@1:2"),
        ("password = 'it\\'s' user=x", "password = *** user=x"),
        ("password='never closed, secret", "password=***"),
        ("api_key=abc&x=1", "api_key=***&x=1"),
    ],
)
def test_what_is_hidden(text: str, shown: str) -> None:
    assert redact(text) == shown
