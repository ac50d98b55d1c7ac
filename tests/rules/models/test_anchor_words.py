"""What `foja anchors` prints for people (the attack of issue 13, finding 14)."""

from __future__ import annotations

from foja.interfaces.cli.texts import words


def test_an_amount_has_its_unit() -> None:
    assert words.amount("polygon", 960_000_000_000_000) == "0.000960 POL"
    assert words.amount("rekor", 0) == "-"


def test_the_words_of_a_remark_are_seen_beside_a_hash() -> None:
    text = f"0x{'ab' * 32} waits for nonce 1 of the account"
    assert words.remark(text, 60) == "0xabababab… waits for nonce 1 of the account"


def test_what_was_found_reads_as_words() -> None:
    found = {"network": "regtest", "calendars": ["http://a", "http://b"], "away": {}, "height": 9}
    assert words.found(found) == "network regtest, calendars http://a and http://b, height 9"
