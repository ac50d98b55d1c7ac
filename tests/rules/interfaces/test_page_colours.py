"""The colours of the pages: every pair that is used can be read, in light and in dark."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

SHEET = (files("foja.interfaces.web") / "static" / "page.css").read_text("utf-8")
TONES = ("good", "warn", "info", "bad")
TEXT = [
    *((ink, ground) for ink in ("ink", "soft", "link") for ground in ("back", "card")),
    *((tone, f"{tone}-wash") for tone in TONES),
    *((tone, ground) for tone in TONES for ground in ("card", "back")),
    *(("ink", f"{tone}-wash") for tone in TONES),
    *(("link", f"{tone}-wash") for tone in TONES),
    ("on-accent", "accent"),
    ("back", "ink"),
]
BORDERS = [("edge", "card"), ("edge", "back"), ("accent", "card"), ("link", "card")]


def colours(theme: str) -> dict[str, str]:
    """Return the colours of a theme; the dark one replaces some of the light ones."""
    light, dark = re.findall(r":root \{(.*?)\}", SHEET, re.DOTALL)[:2]
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))
    return found | dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", dark)) if theme == "dark" else found


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(theme: str) -> None:
    found = colours(theme)
    low = {pair: contrast(found[pair[0]], found[pair[1]]) for pair in TEXT}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_borders_of_controls_can_be_seen(theme: str) -> None:
    found = colours(theme)
    low = {pair: contrast(found[pair[0]], found[pair[1]]) for pair in BORDERS}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 3} == {}


def test_no_colour_is_outside_the_table() -> None:
    tables = "".join(re.findall(r":root \{.*?\}", SHEET, re.DOTALL))
    assert set(re.findall(r"#[0-9a-f]{3,8}\b", SHEET)) == set(re.findall(r"#[0-9a-f]{6}\b", tables))
