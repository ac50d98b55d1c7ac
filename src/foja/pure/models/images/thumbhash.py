"""A ThumbHash: about 25 bytes that a page can show as a blurred picture until the real one is there.

The channels are luminance, yellow–blue, red–green and opacity. Each is a small cosine transform, of
which the lowest frequencies are kept: the mean in more bits, the others in four bits of a common scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi

MAX_SIDE = 100
Channel = Sequence[float]


@dataclass(frozen=True, slots=True)
class _Coded:
    """The mean of a channel, the largest other coefficient, and all others from 0 to 1."""

    mean: float
    scale: float
    others: list[float]


def thumbhash(width: int, height: int, rgba: bytes) -> bytes:
    """Return the hash of an image of at most 100 pixels a side, as rows of red, green, blue and opacity."""
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE) or len(rgba) != 4 * width * height:
        raise ValueError(f"{width} × {height} pixels with {len(rgba)} bytes are not a small image")
    light, yellow, red, opacity = _channels(rgba)
    clear = min(rgba[3::4]) < 255
    most, longest = 5 if clear else 7, max(width, height)
    wide, high = (max(1, _round(most * side / longest)) for side in (width, height))
    luminance = _encode(light, width, height, max(3, wide), max(3, high))
    p, q = _encode(yellow, width, height, 3, 3), _encode(red, width, height, 3, 3)
    coded = [luminance, p, q]
    landscape = width > height
    first = (
        _round(63 * luminance.mean)
        | _round(31.5 + 31.5 * p.mean) << 6
        | _round(31.5 + 31.5 * q.mean) << 12
        | _round(31 * luminance.scale) << 18
        | clear << 23
    )
    second = (high if landscape else wide) | _round(63 * p.scale) << 3 | _round(63 * q.scale) << 9
    head = first.to_bytes(3, "little") + (second | landscape << 15).to_bytes(2, "little")
    if clear:
        alpha = _encode(opacity, width, height, 5, 5)
        head += bytes([_round(15 * alpha.mean) | _round(15 * alpha.scale) << 4])
        coded.append(alpha)
    return head + _nibbles([_round(15 * each) for channel in coded for each in channel.others])


def _channels(rgba: bytes) -> tuple[Channel, Channel, Channel, Channel]:
    """Return the four channels; what is transparent gets the mean colour."""
    opacity = [each / 255 for each in rgba[3::4]]
    total = sum(opacity)
    mixed = []
    for colour in range(3):
        values = [each / 255 * alpha for each, alpha in zip(rgba[colour::4], opacity, strict=True)]
        mean = sum(values) / total if total else 0.0
        mixed.append([v + mean * (1 - alpha) for v, alpha in zip(values, opacity, strict=True)])
    red, green, blue = mixed
    triples = list(zip(red, green, blue, strict=True))
    return (
        [(r + g + b) / 3 for r, g, b in triples],
        [(r + g) / 2 - b for r, g, b in triples],
        [r - g for r, g, _ in triples],
        opacity,
    )


def _encode(channel: Channel, width: int, height: int, nx: int, ny: int) -> _Coded:
    """Return the lowest frequencies of a channel: those in the triangle of nx by ny."""
    across, down = _waves(width, nx), _waves(height, ny)
    rows = [channel[at : at + width] for at in range(0, width * height, width)]
    # First along each row, then along the columns of what remains: the transform is separable.
    partial = [[sum(map(float.__mul__, row, wave)) for row in rows] for wave in across]
    found = [
        sum(map(float.__mul__, partial[cx], down[cy])) / (width * height)
        for cy in range(ny)
        for cx in range(nx)
        if cx * ny < nx * (ny - cy)
    ]
    mean, others = found[0], found[1:]
    scale = max(map(abs, others))
    return _Coded(mean, scale, [0.5 + 0.5 / scale * each if scale else 0.0 for each in others])


def _waves(count: int, most: int) -> list[list[float]]:
    return [[cos(pi / count * n * (at + 0.5)) for at in range(count)] for n in range(most)]


def _nibbles(values: list[int]) -> bytes:
    even = [*values, 0] if len(values) % 2 else values
    return bytes(low | high << 4 for low, high in zip(even[::2], even[1::2], strict=True))


def _round(value: float) -> int:
    return int(value + 0.5)
