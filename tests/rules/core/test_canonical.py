"""Canonical form: one encoding, or a refusal that names the path."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, given
from hypothesis import strategies as st

from foja.errors import NotCanonical
from foja.pure.core.canonical import canonical, parse
from foja.pure.core.serializer import serialize

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "canonical.json").read_text(encoding="utf-8")
)
SAFE = 2**53 - 1
HUGE = pytest.param(10**5000, id="more digits than Python prints")

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
integers = st.integers(-SAFE, SAFE)
doubles = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not SAFE < abs(number) < 1e21
)


def json_values(scalars: st.SearchStrategy[Any], keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    )


plain = json_values(st.none() | st.booleans() | integers | texts, texts)
valid = json_values(st.none() | st.booleans() | integers | doubles | texts, texts)
anything = json_values(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=3),
    st.text(st.characters(), max_size=4) | st.integers() | st.none(),
)


awkward = st.text(st.sampled_from("a\ue000\uffff\U00010000\U0010ffff"), max_size=3)


@given(json_values(st.integers(0, 9) | awkward, awkward))
def test_keys_beyond_the_first_plane_are_in_the_order_of_utf_16(value: Any) -> None:
    """Their order by code point is another one, and large objects of them took over three seconds."""
    expected = serialize(value).encode()
    assert canonical(value) == expected
    assert canonical(json.loads(expected)) == expected == rfc8785.dumps(value)


class Colour(StrEnum):
    RED = "red"


def nested(depth: int, core: object) -> object:
    value = core
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_vector(case: dict[str, Any]) -> None:
    if case.get("refused"):
        with pytest.raises(NotCanonical):
            canonical(parse(case["input"]))
    else:
        assert canonical(parse(case["input"])) == case["canonical"].encode()
        assert canonical(parse(case["canonical"])) == case["canonical"].encode()


@given(valid)
def test_agrees_with_rfc8785(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(plain)
def test_the_encoder_and_the_serializer_agree(value: object) -> None:
    assert canonical(value) == serialize(value).encode()


@given(valid)
def test_reading_it_back_changes_nothing(value: object) -> None:
    assert canonical(parse(canonical(value))) == canonical(value)


@given(st.dictionaries(texts, integers, max_size=6), st.randoms())
def test_insertion_order_does_not_matter(value: dict[str, int], random: Any) -> None:
    shuffled = list(value.items())
    random.shuffle(shuffled)
    assert canonical(dict(shuffled)) == canonical(value)


@given(anything)
def test_total(value: object) -> None:
    try:
        assert canonical(value) == serialize(value).encode()
    except NotCanonical:
        with pytest.raises(NotCanonical):
            serialize(value)


@given(st.floats())
def test_every_double_reads_back(number: float) -> None:
    if not math.isfinite(number) or SAFE < abs(number) < 1e21:
        with pytest.raises(NotCanonical):
            canonical(number)
    else:
        assert float(canonical(number)) == number


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), "$"),
        ({"a": [1, 2, 3, 2**53]}, "$.a[3]"),
        ({"a": {"b c": -math.inf}}, "$.a[“b c”]"),
        ([{"x": "\0"}], "$[0].x"),
        ({"é": "\udc00"}, "$[“\\u00e9”]"),
        ({"a": {1: 2}}, "$.a"),
        ({"bad\0key": 1}, "$[“bad\\u0000key”]"),
        ([0.5, {"when": datetime(2026, 1, 1, tzinfo=UTC)}], "$[1].when"),
    ],
)
def test_a_refusal_names_the_path_and_a_remedy(value: object, path: str) -> None:
    with pytest.raises(NotCanonical) as refusal:
        canonical(value)
    assert str(refusal.value).startswith(f"refused at {path}: ")
    assert ";" in str(refusal.value)


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, Decimal("1.5"), object(), 1j, range(3)])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(NotCanonical, match=type(value).__name__):
        canonical({"a": value})


@pytest.mark.parametrize("key", [1, 1.5, None, True, ("a",)])
def test_keys_are_text(key: object) -> None:
    with pytest.raises(NotCanonical, match="key"):
        canonical({key: 1})


@pytest.mark.parametrize("value", [2**53, -(2**53), 10**21, float(2**53), 1e20, -9.99e20, HUGE])
def test_whole_numbers_that_a_double_cannot_hold_are_refused(value: object) -> None:
    with pytest.raises(NotCanonical):
        canonical([value])


@pytest.mark.parametrize("core", [1, 0.5, "text", None])
def test_sixty_four_containers_are_enough(core: object) -> None:
    canonical(nested(64, core))
    with pytest.raises(NotCanonical, match="64"):
        canonical(nested(65, core))


@pytest.mark.parametrize("core", [[], {}, ()])
def test_an_empty_container_is_a_container(core: object) -> None:
    canonical(nested(63, core))
    with pytest.raises(NotCanonical, match="64"):
        canonical(nested(64, core))


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, '[[],"]",' * 50_000],
    ids=["arrays", "objects", "closed between"],
)
def test_a_deep_text_does_not_end_a_process_whose_recursion_limit_was_raised(text: str) -> None:
    code = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from foja.pure.core.canonical import parse\nfrom foja.errors import NotCanonical\n"
        "try: parse(sys.stdin.read())\nexcept NotCanonical as error: print(error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout.count("are nested")) == (0, 1), ran


def test_brackets_in_texts_are_not_containers() -> None:
    assert parse(json.dumps(["[{" * 1000, '\\"[' * 1000])) == ["[{" * 1000, '\\"[' * 1000]


def test_deep_and_circular_values_are_refused() -> None:
    circle: list[object] = []
    circle.extend([circle, circle])
    for value in (nested(10_000, 1), nested(10_000, 0.5), circle):
        with pytest.raises(NotCanonical):
            canonical(value)


def test_tuples_and_text_enums_are_lists_and_strings() -> None:
    assert canonical({"t": (1, Colour.RED), "c": 0.5}) == b'{"c":0.5,"t":[1,"red"]}'
    assert canonical({"t": (1, Colour.RED)}) == b'{"t":[1,"red"]}'


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b"[" * 100_000,
        '{"a":' * 100_000,
        b"1" * 5000,
        b"[1e999]",
        b'{"a":{"b":1,"b":1}}',
        b"",
        b"nul",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_parse_refuses_with_one_error(data: bytes | str) -> None:
    with pytest.raises(NotCanonical, match="refused"):
        parse(data)


def test_a_duplicate_key_is_named() -> None:
    with pytest.raises(NotCanonical, match="the key “b” occurs twice"):
        parse('[{"a":1,"b":1,"b":1}]')


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_parse_is_total(data: bytes | str) -> None:
    with contextlib.suppress(NotCanonical):
        parse(data)


@given(valid)
def test_parse_reads_any_formatting(value: object) -> None:
    assume(not isinstance(value, float))
    loose = json.dumps(value, indent=2)
    assert canonical(parse(loose)) == canonical(parse(loose.encode())) == canonical(value)
