"""FOJA_TSA_*: whom to ask, whom to believe, and what is said when that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from foja.domains.documents.authorities import open_stamper
from foja.domains.documents.stamper import Confirmed, Stamper, Unconfirmed
from foja.engine.embedded.tsa import LocalAuthority as Local
from foja.engine.settings import load
from foja.errors import SetupFailed
from foja.pure.proofs.finding import Reason
from foja.pure.proofs.tsa import trusted
from tests.flow.command import Run, check_refused
from tests.rules.authorities import DAY, certify
from tests.rules.proofs.test_tsa_revocation import crl
from tests.tsa_server import TsaServer, running_tsa

DIGEST = sha256(b"a sheet").digest()


@pytest.fixture(scope="module")
def server() -> Iterator[TsaServer]:
    with running_tsa() as server:
        yield server


@pytest.fixture
def tsa(server: TsaServer) -> TsaServer:
    server.behave("honest")
    return server


@pytest.fixture
def roots(tsa: TsaServer, tmp_path: Path) -> Path:
    path = tmp_path / "roots.pem"
    path.write_bytes(tsa.root)
    return path


async def stamped(home: Path, **settings: Any) -> tuple[Confirmed | Unconfirmed, Stamper]:
    async with AsyncExitStack() as closing:
        stamper = await open_stamper(load(home=home, **settings), closing)
        return await stamper.stamp(DIGEST), stamper


async def test_nothing_set_is_the_local_authority(tmp_path: Path) -> None:
    found, stamper = await stamped(tmp_path)
    assert isinstance(found, Confirmed)
    assert found.stamp.local
    assert stamper.terms.roots == trusted(Local(tmp_path).root)


async def test_authorities_are_asked_in_their_order(tsa: TsaServer, roots: Path, tmp_path: Path) -> None:
    urls = f"http://127.0.0.1:9/  {tsa.url}"
    found, _ = await stamped(tmp_path / "home", tsa_urls=urls, tsa_roots=str(roots))
    assert isinstance(found, Confirmed)
    assert found.authority == tsa.url
    assert [each.authority for each in found.failures] == ["http://127.0.0.1:9/"]
    assert not (tmp_path / "home" / "tsa").exists(), "nobody needs a local authority"


async def test_old_tokens_stay_trusted_when_others_are_asked(
    tsa: TsaServer, roots: Path, tmp_path: Path
) -> None:
    local = Local(tmp_path)
    _, stamper = await stamped(tmp_path, tsa_urls=tsa.url, tsa_roots=str(roots))
    assert stamper.terms.roots == trusted(tsa.root, local.root)


async def test_roots_may_be_a_folder_and_what_is_no_root_only_helps(tsa: TsaServer, tmp_path: Path) -> None:
    folder = tmp_path / "roots"
    folder.mkdir()
    (folder / "a.pem").write_bytes(tsa.root)
    (folder / "b.crt").write_bytes(certify("Mid", tsa.true_root, ca=True).der)
    found, stamper = await stamped(tmp_path / "home", tsa_urls=tsa.url, tsa_roots=str(folder))
    assert isinstance(found, Confirmed)
    assert [each.name for each in stamper.terms.intermediates] == ["CN=Mid"]
    assert stamper.terms.roots == trusted(tsa.root)


async def test_only_named_policies_are_taken(tsa: TsaServer, roots: Path, tmp_path: Path) -> None:
    settings = {"tsa_urls": tsa.url, "tsa_roots": str(roots)}
    found, _ = await stamped(tmp_path, **settings, tsa_policies="1.2.3 1.2.4")
    assert isinstance(found, Unconfirmed)
    assert found.code == Reason.POLICY_NOT_ALLOWED
    found, _ = await stamped(tmp_path, **settings, tsa_policies="1.2.3 1.3.6.1.4.1.99999.1")
    assert isinstance(found, Confirmed)


async def test_a_token_says_how_exact_it_is_and_is_exact_enough(
    tsa: TsaServer, roots: Path, tmp_path: Path
) -> None:
    settings = {"tsa_urls": tsa.url, "tsa_roots": str(roots)}
    for way, worst, code in (
        ("honest", {}, None),
        ("inexact", {}, Reason.ACCURACY_NOT_ALLOWED),
        ("inexact", {"tsa_worst_accuracy_seconds": 86_400}, None),
        ("honest", {"tsa_worst_accuracy_seconds": 0.5}, Reason.ACCURACY_NOT_ALLOWED),
        ("no accuracy", {"tsa_worst_accuracy_seconds": 0.5}, None),  # as many authorities do; reports say so
    ):
        tsa.behave(way)
        found, _ = await stamped(tmp_path, **settings, **worst)
        assert (found.code if isinstance(found, Unconfirmed) else None) == code, (way, worst)


async def test_it_may_be_demanded_that_nobody_revoked_an_authority(
    tsa: TsaServer, roots: Path, tmp_path: Path
) -> None:
    settings = {"tsa_urls": tsa.url, "tsa_roots": str(roots), "tsa_require_revocation": True}
    found, _ = await stamped(tmp_path, **settings)
    assert isinstance(found, Unconfirmed)
    assert found.code == Reason.REVOCATION_UNKNOWN
    top, yesterday = tsa.true_root, datetime.now(UTC) - DAY
    (tmp_path / "root.crl").write_bytes(crl(by=top, name=top, at=yesterday))
    found, _ = await stamped(tmp_path, **settings, tsa_crls=str(tmp_path / "root.crl"))
    assert isinstance(found, Confirmed)


async def test_a_revoked_authority_is_refused(tsa: TsaServer, roots: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    top = tsa.true_root
    (lists / "root.crl").write_bytes(crl((tsa.signer, tsa.begins, None), by=top, name=top))
    found, _ = await stamped(tmp_path, tsa_urls=tsa.url, tsa_roots=str(roots), tsa_crls=str(lists))
    assert isinstance(found, Unconfirmed)
    assert found.code == Reason.REVOKED


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"tsa_urls": "http://127.0.0.1:9/"}, "FOJA_TSA_ROOTS"),
        ({"tsa_roots": "nowhere.pem"}, "FOJA_TSA_ROOTS cannot be read"),
        ({"tsa_roots": "garbage.pem"}, "FOJA_TSA_ROOTS cannot be used"),
        ({"tsa_roots": "middle.pem"}, "no self-signed certificate"),
        ({"tsa_crls": "garbage.pem"}, "FOJA_TSA_CRLS cannot be used"),
        ({"tsa_require_revocation": "true"}, "FOJA_TSA_REQUIRE_REVOCATION"),
    ],
)
async def test_settings_that_cannot_be_are_told(
    tsa: TsaServer, tmp_path: Path, settings: dict[str, str], says: str
) -> None:
    (tmp_path / "garbage.pem").write_bytes(b"garbage")
    (tmp_path / "middle.pem").write_bytes(certify("Mid", tsa.true_root, ca=True).pem)
    placed = {n: str(tmp_path / value) if ".pem" in value else value for n, value in settings.items()}
    with pytest.raises(SetupFailed, match=says):
        await stamped(tmp_path, **placed)


def test_the_command_asks_everybody_once(
    run: Run, tsa: TsaServer, roots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOJA_HOME", str(tmp_path / "home"))
    assert run("tsa", "ask").code == 0
    monkeypatch.setenv("FOJA_TSA_URLS", tsa.url)
    check_refused(run("tsa", "ask"), 2, "FOJA_TSA_ROOTS")
    monkeypatch.setenv("FOJA_TSA_ROOTS", str(roots))
    assert run("tsa", "ask", "--json").document[tsa.url]["confirmed"]
    tsa.behave("another nonce")
    bad = run("tsa", "ask")
    assert bad.code == 1
    assert Reason.NONCE_MISMATCH in bad.out
