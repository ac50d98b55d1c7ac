"""The font of the certificate: free, already installed, with the letters that Spanish needs.

PDF/A requires every glyph embedded. Pillow, which fpdf2 needs anyway, includes Aileron (CC0, no rights
reserved) without accented letters; they are composed here from its other glyphs.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TypeAlias
from unicodedata import normalize

from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from PIL import ImageFont

NAME = "Aileron"
ACUTE, TILDE, DIAERESIS = "\u0301", "\u0303", "\u0308"
DOTLESS = "ı"
# a glyph, its scale in x and y, its offset in x and y
Piece: TypeAlias = tuple[str, float, float, float, float]
Stroke: TypeAlias = tuple[str, tuple[tuple[float, float], ...]]
_MODIFIED = 3_600_000_000  # seconds since 1904; a fixed day, so that the bytes do not depend on the date


@lru_cache(maxsize=1)
def font_bytes() -> bytes:
    """Return the font with the letters that Spanish needs; always the same bytes."""
    font = _plain()
    for letter, pieces in _letters(font).items():
        _add(font, letter, pieces)
    font["head"].modified = _MODIFIED
    font.recalcTimestamp = False
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()


@lru_cache(maxsize=1)
def characters() -> frozenset[str]:
    """Return every character of the font."""
    return frozenset(map(chr, TTFont(io.BytesIO(font_bytes())).getBestCmap()))


def replace_missing(text: str) -> str:
    """Return the text with each character that the font lacks replaced by its code point.

    Replaced characters are written from left to right, so that no quotation needs to be isolated.
    """
    shown = text.replace("\u2068", "").replace("\u2069", "")
    return "".join(each if each in characters() else f"[U+{ord(each):04X}]" for each in shown)


def _plain() -> TTFont:
    default = ImageFont.load_default(size=12)
    assert isinstance(default, ImageFont.FreeTypeFont)
    source = default.path
    assert isinstance(source, io.BytesIO)
    return TTFont(io.BytesIO(source.getvalue()))


def _letters(font: TTFont) -> dict[str, list[Piece]]:
    acute, tilde, dot = (_box(font, mark) for mark in ("´", "~", "."))
    made: dict[str, list[Piece]] = {}
    for base in "aeiouAEIOU":
        stem = DOTLESS if base == "i" else base
        left, _, right, top = _box(font, "u" if base == "i" else base)
        middle = _box(font, "i")[2] + _box(font, "i")[0] if base == "i" else left + right
        place = middle / 2 - (acute[0] + acute[2]) / 2, top + 40 - acute[1]
        made[normalize("NFC", base + ACUTE)] = [(stem, 1, 1, 0, 0), ("´", 1, 1, *place)]
    for base in "nN":
        left, _, right, top = _box(font, base)
        shift = (left + right) / 2 - 0.8 * (tilde[0] + tilde[2]) / 2
        wave: Piece = ("~", 0.8, 0.8, shift, top + 50 - 0.8 * tilde[1])
        made[normalize("NFC", base + TILDE)] = [(base, 1, 1, 0, 0), wave]
    for base in "uU":
        left, _, right, top = _box(font, base)
        middle = (left + right) / 2 - (dot[0] + dot[2]) / 2
        height = top + 50 - dot[1]
        dots: list[Piece] = [(".", 1, 1, middle + side, height) for side in (-110, 110)]
        made[normalize("NFC", base + DIAERESIS)] = [(base, 1, 1, 0, 0), *dots]
    for upright, turned in (("?", "¿"), ("!", "¡")):
        left, low, right, top = _box(font, upright)
        made[turned] = [(upright, -1, -1, left + right, top + low - 180)]
    left, _, right, _ = _box(font, "-")
    made["–"] = [("-", 1.7, 1, -0.7 * left, 0)]
    return made


def _box(font: TTFont, letter: str) -> tuple[float, float, float, float]:
    glyph = font["glyf"][font.getBestCmap()[ord(letter)]]
    glyph.recalcBounds(font["glyf"])
    return glyph.xMin, glyph.yMin, glyph.xMax, glyph.yMax


def _add(font: TTFont, letter: str, pieces: list[Piece]) -> None:
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    pen, base = TTGlyphPen(None), pieces[0]
    for source, scale_x, scale_y, right, up in pieces:
        drawn = DecomposingRecordingPen(glyphs)
        glyphs[names[ord("i" if source == DOTLESS else source)]].draw(drawn)
        if source == DOTLESS:
            drawn.value = _without_dot(drawn.value)
        drawn.replay(TransformPen(pen, (scale_x, 0, 0, scale_y, right, up)))
    width = font["hmtx"][names[ord("i" if base[0] == DOTLESS else base[0])]][0] * abs(base[1])
    name = f"uni{ord(letter):04X}"
    font["glyf"][name] = pen.glyph()
    font["glyf"][name].recalcBounds(font["glyf"])
    font["hmtx"][name] = (round(width), font["glyf"][name].xMin)
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap[ord(letter)] = name


def _without_dot(drawing: list[Stroke]) -> list[Stroke]:
    """Return the lower of the two outlines of an i."""
    ends = [at + 1 for at, (verb, _) in enumerate(drawing) if verb == "closePath"]
    outlines = [drawing[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return min(outlines, key=lambda outline: outline[0][1][0][1])
