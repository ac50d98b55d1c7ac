"""The words of a PDF as fpdf2 writes it: every line of every page, through its table of characters."""

from __future__ import annotations

import re
import zlib

_SHOWN = re.compile(rb" Td [^(]*\((.*?)(?<!\\)\) Tj", re.DOTALL)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_PAIR = re.compile(rb"<([0-9A-F]{4})> <([0-9A-F]+)>")
_LETTERS = {b"r": b"\r", b"n": b"\n"}


def pdf_lines(pdf: bytes) -> list[str]:
    """Return the lines of text, in the order in which they were drawn."""
    streams = [_unpacked(each) for each in re.findall(rb"stream\n(.*?)\nendstream", pdf, re.DOTALL)]
    table = next(each for each in streams if b"beginbfchar" in each)
    letters = {int(code, 16): chr(int(letter, 16)) for code, letter in _PAIR.findall(table)}
    return [
        "".join(letters[code] for code in _codes(shown))
        for stream in streams
        if b" Td " in stream
        for shown in _SHOWN.findall(stream)
    ]


def _codes(shown: bytes) -> list[int]:
    data = _ESCAPED.sub(lambda found: _LETTERS.get(found[1], found[1]), shown)
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return data
