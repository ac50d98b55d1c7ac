"""`foja anchors`: enable and disable networks, follow batches and what they cost. The network is a double."""

from __future__ import annotations

import pytest

from tests.fake_network import Chain, FakeNetwork
from tests.flow.command import Run, check_refused


@pytest.fixture
def polygon(monkeypatch: pytest.MonkeyPatch) -> FakeNetwork:
    network = FakeNetwork("polygon", Chain())
    monkeypatch.setattr("foja.domains.documents.assembly.open_networks", lambda *_: {"polygon": network})
    return network


KEYS = (
    "one of FOJA_POLYGON_PRIVATE_KEY, FOJA_POLYGON_KEY_FILE, FOJA_POLYGON_KEYSTORE "
    "(with FOJA_POLYGON_KEYSTORE_PASSWORD_FILE) or FOJA_POLYGON_SIGNER_URL (with FOJA_POLYGON_ACCOUNT)"
)
HEADERS = "FOJA_BITCOIN_RPC_URL or FOJA_BITCOIN_HEADER_URLS"
LACKING: list[tuple[str, dict[str, str], str]] = [
    ("polygon", {}, f"FOJA_POLYGON_RPC_URL and {KEYS}"),
    ("polygon", {"POLYGON_KEY_FILE": "key"}, "FOJA_POLYGON_RPC_URL"),
    (
        "polygon",
        {"POLYGON_SIGNER_URL": "http://127.0.0.1:1"},
        "FOJA_POLYGON_RPC_URL and FOJA_POLYGON_ACCOUNT",
    ),
    (
        "polygon",
        {"POLYGON_KEYSTORE": "k.json"},
        "FOJA_POLYGON_RPC_URL and FOJA_POLYGON_KEYSTORE_PASSWORD_FILE",
    ),
    ("bitcoin", {}, f"FOJA_OTS_CALENDARS and {HEADERS}"),
    ("bitcoin", {"BITCOIN_HEADER_URLS": "http://127.0.0.1:1"}, "FOJA_OTS_CALENDARS"),
    ("rekor", {}, "FOJA_REKOR_URL and FOJA_REKOR_KEY"),
    ("rekor", {"REKOR_URL": "http://127.0.0.1:1"}, "FOJA_REKOR_KEY"),
]


@pytest.mark.parametrize(("network", "given", "lacking"), LACKING)
def test_the_settings_that_a_network_lacks_are_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, network: str, given: dict[str, str], lacking: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"FOJA_{name}", value)
    run("jobs")
    message = f"foja: {network} is not set up: set {lacking}, then enable it again\n"
    refused = run("anchors", "enable", network)
    assert (refused.code, refused.out, refused.err) == (1, "", message)


@pytest.mark.parametrize(
    ("network", "given", "lacking"),
    [
        ("polygon", {"POLYGON_RPC_URL": "http://127.0.0.1:1"}, "FOJA_POLYGON_KEY_FILE"),
        ("bitcoin", {"OTS_CALENDARS": "http://127.0.0.1:1 http://127.0.0.1:2"}, "FOJA_BITCOIN_RPC_URL"),
    ],
)
def test_a_network_that_is_set_up_in_part_names_the_rest(
    run: Run, monkeypatch: pytest.MonkeyPatch, network: str, given: dict[str, str], lacking: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"FOJA_{name}", value)
    run("jobs")
    refused = run("anchors", "enable", network)
    assert refused.code == 1
    assert lacking in refused.out + refused.err


def test_networks_without_settings_are_listed(run: Run) -> None:
    run("jobs")
    shown = run("anchors", "--json").document
    assert [(each["network"], each["enabled"], each["configured"]) for each in shown] == [
        ("polygon", False, False),
        ("bitcoin", False, False),
        ("rekor", False, False),
    ]
    assert shown[2]["missing"] == ["FOJA_REKOR_URL", "FOJA_REKOR_KEY"]
    assert run("anchors").out.count("not set up here: `foja anchors enable") == 3


def test_what_is_missing_is_said_in_one_line(run: Run, polygon: FakeNetwork) -> None:
    polygon.missing = ["the balance is 0 POL", "the node is of chain 1, not 137"]
    result = run("anchors", "enable", "polygon")
    assert result.code == 1
    assert result.lines == ["polygon is not enabled: the balance is 0 POL; the node is of chain 1, not 137"]
    assert run("anchors", "enable", "polygon", "--json").document["missing"] == polygon.missing


def test_a_batch_is_listed_shown_and_its_cost_counted(run: Run, polygon: FakeNetwork) -> None:
    enabled = run("anchors", "enable", "polygon")
    assert (enabled.code, enabled.lines) == (0, ["polygon is enabled: nonce 0, balance 100"])
    assert run("anchors", "list").lines == ["no batches match"]
    assert run("anchors", "cost").lines == ["no batches were made"]
    assert run("anchors", "flush", "polygon", "--json").document == {"network": "polygon", "jobs": 0}
    assert run("anchors", "flush", "polygon").lines == ["no digest waits"]
    check_refused(run("anchors", "show", "00000000-0000-0000-0000-000000000000"), 1, "there is no batch")
    assert run("anchors", "disable", "polygon").lines == ["polygon is disabled; attempts that are open go on"]
    assert run("anchors", "disable", "polygon").lines == ["polygon was not enabled"]
