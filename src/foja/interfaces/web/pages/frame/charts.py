"""Charts as inline SVG: bars over time, and a line over time. The same numbers give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from foja.interfaces.web.pages.frame.times import number

WIDTH, HEIGHT, LEFT, FLOOR, TOP = 560, 160, 44, 136, 10
LABELS: Final = 6
_FRAME: Final = Markup('<svg viewBox="0 0 {} {}" aria-hidden="true" focusable="false">{}</svg>')
_TEXT: Final = Markup('<text x="{:.0f}" y="{:.0f}" text-anchor="{}">{}</text>')
_RULE: Final = Markup('<path class="axis" d="M{} {:.1f}H{}"/>')
_DOT: Final = Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="3"/>')
_BAR: Final = Markup('<rect class="bar{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label, its height, and how much of it failed."""

    label: str
    count: float
    failed: float = 0


def bars(values: Sequence[Bar], language: str) -> Markup:
    """Return a bar chart; the failed part of a bar is at its top, in another colour."""
    most = _round_up(max((each.count for each in values), default=0))
    step = (WIDTH - LEFT) / max(len(values), 1)
    drawn = [_axis(most, language), _labels([each.label for each in values], step)]
    for place, each in enumerate(values):
        x, height = LEFT + place * step + step * 0.15, _height(each.count, most)
        failed = _height(each.failed, most)
        drawn.append(_BAR.format("", x, FLOOR - height + failed, step * 0.7, height - failed))
        if failed:
            drawn.append(_BAR.format(" failed", x, FLOOR - height, step * 0.7, failed))
    return _FRAME.format(WIDTH, HEIGHT, Markup().join(drawn))


def line(values: Sequence[tuple[str, float | None]], language: str) -> Markup:
    """Return a line chart; where there is no value, the line is interrupted."""
    most = _round_up(max((value for _, value in values if value is not None), default=0))
    step = (WIDTH - LEFT) / max(len(values), 1)
    drawn = [_axis(most, language), _labels([label for label, _ in values], step)]
    path, down = [], False
    for place, (_, value) in enumerate(values):
        if value is not None:
            x, y = LEFT + (place + 0.5) * step, FLOOR - _height(value, most)
            path.append(f"{'L' if down else 'M'}{x:.1f} {y:.1f}")
            drawn.append(_DOT.format(x, y))
        down = value is not None
    drawn.append(Markup('<path class="line" d="{}"/>').format("".join(path)))
    return _FRAME.format(WIDTH, HEIGHT, Markup().join(drawn))


def _axis(most: float, language: str) -> Markup:
    """Return three rules with their values."""
    parts = [
        _RULE.format(LEFT, FLOOR - _height(value, most), WIDTH)
        + _TEXT.format(LEFT - 6, FLOOR - _height(value, most) + 4, "end", number(value, language))
        for value in (0, most / 2, most)
    ]
    return Markup().join(parts)


def _labels(labels: Sequence[str], step: float) -> Markup:
    every = max(1, -(-len(labels) // LABELS))
    shown = [(place, label) for place, label in enumerate(labels) if place % every == 0]
    return Markup().join(
        _TEXT.format(LEFT + (place + 0.5) * step, FLOOR + 16, "middle", label) for place, label in shown
    )


def _height(value: float, most: float) -> float:
    return (FLOOR - TOP) * value / most


def _round_up(value: float) -> float:
    """Return the next number that begins with 1, 2 or 5 and has zeros after it, at least 1."""
    unit = 1.0
    while unit < value:
        for factor in (2, 5, 10):
            if value <= unit * factor:
                return unit * factor
        unit *= 10
    return unit
