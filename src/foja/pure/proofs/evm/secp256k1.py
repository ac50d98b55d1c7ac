"""Recover the public key of a signature on secp256k1, the curve of Ethereum and Bitcoin.

Only public values are used here, so it need not run in constant time.
"""

from __future__ import annotations

from typing import TypeAlias

from foja.errors import Tampered

Point: TypeAlias = "tuple[int, int, int]"  # x/z², y/z³, z; z = 0 is the point at infinity
P = 2**256 - 2**32 - 977
N = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
G = (
    0x79BE667E_F9DCBBAC_55A06295_CE870B07_029BFCDB_2DCE28D9_59F2815B_16F81798,
    0x483ADA77_26A3C465_5DA4FBFC_0E1108A8_FD17B448_A6855419_9C47D08F_FB10D4B8,
    1,
)
_INFINITY = (0, 1, 0)


def recover(digest: bytes, r: int, s: int, *, odd: bool) -> bytes:
    """Return the 64 bytes of the key that made this signature, or raise `Tampered`."""
    if not (0 < r < N and 0 < s <= N // 2):
        raise Tampered("the signature of the transaction is out of range")
    square = (pow(r, 3, P) + 7) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        raise Tampered("no key can have made the signature of the transaction")
    point = (r, y if y % 2 == odd else P - y, 1)
    inverse = pow(r, -1, N)
    message = int.from_bytes(digest, "big")
    x, y, z = _sum_of_multiples(-message * inverse % N, G, s * inverse % N, point)
    if z == 0:
        raise Tampered("no key can have made the signature of the transaction")
    scale = pow(z, -1, P)
    square = scale * scale % P
    return (x * square % P).to_bytes(32, "big") + (y * square * scale % P).to_bytes(32, "big")


def _sum_of_multiples(a: int, first: Point, b: int, second: Point) -> Point:
    """Return a·first + b·second, both in one pass over the bits."""
    either = {(1, 0): first, (0, 1): second, (1, 1): _add(first, second)}
    total = _INFINITY
    for bit in range(255, -1, -1):
        total = _double(total)
        step = (a >> bit & 1, b >> bit & 1)
        if step != (0, 0):
            total = _add(total, either[step])
    return total


def _double(point: Point) -> Point:
    x, y, z = point
    if z == 0 or y == 0:
        return _INFINITY
    square = y * y % P
    slope = 3 * x * x % P
    middle = 4 * x * square % P
    new_x = (slope * slope - 2 * middle) % P
    return new_x, (slope * (middle - new_x) - 8 * square * square) % P, 2 * y * z % P


def _add(left: Point, right: Point) -> Point:
    if left[2] == 0:
        return right
    if right[2] == 0:
        return left
    (x1, y1, z1), (x2, y2, z2) = left, right
    z1_square, z2_square = z1 * z1 % P, z2 * z2 % P
    u1, u2 = x1 * z2_square % P, x2 * z1_square % P
    s1, s2 = y1 * z2_square * z2 % P, y2 * z1_square * z1 % P
    if u1 == u2:
        return _double(left) if s1 == s2 else _INFINITY
    h, slope = u2 - u1, s2 - s1
    h_square = h * h % P
    h_cube, middle = h * h_square % P, u1 * h_square % P
    x = (slope * slope - h_cube - 2 * middle) % P
    return x, (slope * (middle - x) - s1 * h_cube) % P, h * z1 * z2 % P
