"""The local authority: other tools accept its tokens, and only its owner can read its keys."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import new as digest_by
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from rfc3161_client import VerifierBuilder, decode_timestamp_response

from foja.engine.embedded.tsa import LocalAuthority, stored_root
from foja.engine.embedded.tsa.issuer import RENEWED_BEFORE, SIGNER_LASTS, new_signer
from foja.engine.embedded.tsa.keystore import KeyStore
from foja.errors import SetupFailed
from foja.interfaces.web.server import bind
from foja.pure.proofs.finding import Reason
from foja.pure.proofs.tsa import (
    ALGORITHMS,
    LOCAL_NOTICE,
    LOCAL_POLICY,
    Terms,
    Timestamp,
    judge,
    request,
    trusted,
)
from tests.flow.command import Process, Run
from tests.other_tools import OPENSSL, agreed, openssl_version

DATA = b"a sheet"
DIGEST = digest_by("sha256", DATA).digest()
REASONS = {
    "badAlg": request(DIGEST, nonce=1).replace(b"\x03\x04\x02\x01", b"\x03\x04\x02\x08"),
    "badDataFormat": b"not a request",
    "unacceptedPolicy": request(DIGEST, nonce=1, policy="1.2.3"),
}
START = """
import sys
from pathlib import Path
from foja.engine.embedded.tsa import LocalAuthority
print(LocalAuthority(Path(sys.argv[1])).root.decode())
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> LocalAuthority:
    return LocalAuthority(tmp_path_factory.mktemp("home"))


def stamped(authority: LocalAuthority, algorithm: str = "sha256", nonce: int = 5) -> tuple[bytes, bytes]:
    query = request(digest_by(algorithm, DATA).digest(), nonce=nonce, algorithm=algorithm)
    return query, authority.reply(query)


def test_a_time_has_three_digits_of_a_second_or_none(tmp_path: Path) -> None:
    """DER forbids zeros at the end, and @sigstore/verify refuses one or two digits: one token of ten."""
    second = datetime.now(UTC).replace(microsecond=0)
    moments = [second + timedelta(milliseconds=each) for each in range(0, 1000, 5)]
    clock = iter([second, *moments])
    local, latest = LocalAuthority(tmp_path, clock=lambda: next(clock)), second
    for moment in moments:
        [(seconds, digits)] = re.findall(rb"\x18.(\d{14})(?:\.(\d+))?Z", stamped(local)[1])
        assert len(digits) in (0, 3)
        assert not digits.endswith(b"0")
        whole = datetime.strptime(seconds.decode(), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        time = whole + timedelta(milliseconds=int(digits or 0))
        assert timedelta(0) <= time - moment <= timedelta(milliseconds=1)
        assert time >= latest
        latest = time


def openssl(*arguments: str | Path) -> str:
    ran = subprocess.run(["openssl", "ts", *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_openssl_verifies_and_reads_its_tokens(
    authority: LocalAuthority, tmp_path: Path, algorithm: str
) -> None:
    query, reply = stamped(authority, algorithm)
    for name, data in (("q", query), ("r", reply), ("root", authority.root), ("data", DATA)):
        (tmp_path / name).write_bytes(data)
    where = ("-in", tmp_path / "r", "-CAfile", tmp_path / "root")
    assert "Verification: OK" in openssl("-verify", "-queryfile", tmp_path / "q", *where)
    assert "Verification: OK" in openssl("-verify", "-data", tmp_path / "data", *where)
    text = openssl("-reply", "-in", tmp_path / "r", "-text")
    lines = ("Status: Granted.", f"Policy OID: {LOCAL_POLICY}", f"Hash Algorithm: {algorithm}", "Nonce: 0x05")
    assert all(line in text for line in lines)
    agreed("timestamps", OPENSSL, openssl_version())


def test_it_answers_a_query_of_openssl(authority: LocalAuthority, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(DATA)
    (tmp_path / "root").write_bytes(authority.root)
    openssl("-query", "-data", tmp_path / "data", "-sha512", "-cert", "-out", tmp_path / "q")
    (tmp_path / "r").write_bytes(authority.reply((tmp_path / "q").read_bytes()))
    where = ("-in", tmp_path / "r", "-CAfile", tmp_path / "root")
    assert "Verification: OK" in openssl("-verify", "-queryfile", tmp_path / "q", *where)


def test_another_library_verifies_its_tokens(authority: LocalAuthority) -> None:
    found = decode_timestamp_response(stamped(authority)[1])
    root = x509.load_pem_x509_certificate(authority.root)
    assert VerifierBuilder().add_root_certificate(root).nonce(5).build().verify_message(found, DATA)
    agreed("timestamps", "rfc3161-client")


def test_the_certificate_is_sent_only_if_asked_for(authority: LocalAuthority) -> None:
    query, reply = stamped(authority)
    shorter = authority.reply(bytes((query[0], query[1] - 3)) + query[2:-3])
    assert len(shorter) < len(reply) - 300
    found = judge(shorter, DIGEST, Terms(roots=trusted(authority.root)))
    assert found.finding.reason is Reason.SIGNER_CERTIFICATE_MISSING


@pytest.mark.parametrize("reason", REASONS)
def test_a_refusal_is_a_reply_with_its_reason(authority: LocalAuthority, tmp_path: Path, reason: str) -> None:
    reply = authority.reply(REASONS[reason])
    (tmp_path / "r").write_bytes(reply)
    assert "Status: Rejected." in openssl("-reply", "-in", tmp_path / "r", "-text")
    finding = judge(reply, b"", Terms(roots=())).finding
    assert finding.reason is Reason.STATUS_NOT_GRANTED
    assert reason in finding.detail


def test_every_token_has_its_own_serial(authority: LocalAuthority) -> None:
    roots = trusted(authority.root)
    stamps = [judge(stamped(authority)[1], DIGEST, Terms(roots=roots)).stamp for _ in range(50)]
    assert len({each.serial for each in stamps if each}) == 50


def test_only_the_owner_can_read_the_keys(tmp_path: Path) -> None:
    LocalAuthority(tmp_path / "home")
    folder = tmp_path / "home" / "tsa"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}
    (folder / "root.key").chmod(0o644)
    with pytest.raises(SetupFailed, match="other users can read"):
        LocalAuthority(tmp_path / "home")


def test_a_second_start_uses_the_same_keys(tmp_path: Path) -> None:
    assert LocalAuthority(tmp_path).root == LocalAuthority(tmp_path).root == stored_root(tmp_path)


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_bytes(b"nothing")], ids=["missing", "damaged"]
)
def test_a_lost_key_is_reported_and_not_replaced(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    root = LocalAuthority(tmp_path).root
    damage(tmp_path / "tsa" / "signer.key")
    with pytest.raises(SetupFailed):
        LocalAuthority(tmp_path)
    assert stored_root(tmp_path) == root


def test_processes_that_start_at_once_have_one_root(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, str(tmp_path)]
    starts = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    roots = {start.communicate()[0] for start in starts}
    assert len(roots) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["tsa", "tsa.lock"]


KILLED = """
import os, signal, sys
from pathlib import Path
from foja.engine.embedded.tsa import keystore
left = int(sys.argv[2])
for name in ("write_file", "sync"):
    def step(*arguments, real=getattr(keystore, name)):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        real(*arguments)
    setattr(keystore, name, step)
keystore.KeyStore(Path(sys.argv[1])).root()
"""


@pytest.mark.parametrize("steps", range(5))
def test_after_a_killed_first_start_the_next_one_works(tmp_path: Path, steps: int) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(steps)], check=False)
    assert ran.returncode == -signal.SIGKILL
    local = LocalAuthority(tmp_path)
    assert verified(local, stamped(local)[1])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["tsa", "tsa.lock"]


def verified(authority: LocalAuthority, reply: bytes, at: datetime | None = None) -> Timestamp | None:
    found = judge(reply, DIGEST, Terms(roots=trusted(authority.root), nonce=5, at=at))
    return found.stamp if found.verified else None


def test_the_signer_is_renewed_in_time_and_old_tokens_stay_valid(tmp_path: Path) -> None:
    old = LocalAuthority(tmp_path)
    token = stamped(old)[1]
    keystore, now = KeyStore(tmp_path), datetime.now(UTC)
    before = keystore.signer(now)
    assert keystore.signer(now + SIGNER_LASTS - RENEWED_BEFORE - timedelta(days=1)).der == before.der
    later = now + SIGNER_LASTS - timedelta(days=1)
    renewed = keystore.signer(later)
    assert renewed.der != before.der
    assert keystore.signer(later).der == renewed.der
    assert renewed.certificate.not_valid_before_utc <= later < renewed.certificate.not_valid_after_utc
    assert verified(old, token, at=later + SIGNER_LASTS)


def test_an_expiring_signer_is_replaced_before_it_signs(tmp_path: Path) -> None:
    root, now = KeyStore(tmp_path).root(), datetime.now(UTC)
    old = new_signer(root, now - SIGNER_LASTS + timedelta(days=1))
    (tmp_path / "tsa" / "signer.key").write_bytes(old.encode())
    local = LocalAuthority(tmp_path)
    stamp = verified(local, stamped(local)[1])
    assert stamp is not None
    assert stamp.certificate_sha256 != sha256(old.der).hexdigest()


def test_no_token_is_dated_before_the_last_one(tmp_path: Path) -> None:
    """If the clock goes back, the time of tokens stands still; beyond their accuracy, signing is refused."""
    began = datetime.now(UTC)
    clock = iter(began + timedelta(seconds=each) for each in (60, 10, 9.5, 8, 7, 9.2, 11))
    local = LocalAuthority(tmp_path, clock=lambda: next(clock))
    asked = (local.reply(request(DIGEST, nonce=5)) for _ in range(6))
    found = [judge(each, DIGEST, Terms(roots=trusted(local.root))) for each in asked]
    written = [each.stamp and each.stamp.gen_time - began.replace(microsecond=0) for each in found]
    assert [each and each.seconds for each in written] == [10, 10, None, None, 10, 11]
    assert written[0] == written[1] == written[4]
    assert {each.finding.reason for each in found[2:4]} == {Reason.STATUS_NOT_GRANTED}
    assert "clock went back" in found[2].finding.detail


def test_one_of_many_renews_the_signer(tmp_path: Path) -> None:
    LocalAuthority(tmp_path)
    later, found = datetime.now(UTC) + SIGNER_LASTS, list[bytes]()
    threads = [
        threading.Thread(target=lambda: found.append(KeyStore(tmp_path).signer(later).der)) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_it_answers_over_http(tmp_path: Path) -> None:
    process = Process("tsa", "serve", "--port", "0", "--home", tmp_path)
    try:
        line = process.line()
        assert LOCAL_NOTICE in line
        with httpx.Client(base_url=line.split()[2].rstrip(";")) as client:
            ask_over_http(client)
        ended = process.end(signal.SIGTERM)
    finally:
        process.kill()
    assert (ended.code, ended.out) == (0, "stopped\n")


def ask_over_http(client: httpx.Client) -> None:
    root = client.get("/root.pem").content
    for path in ("/", "/tsr"):
        answer = client.post(path, content=request(DIGEST, nonce=5))
        assert answer.headers["content-type"] == "application/timestamp-reply"
        assert judge(answer.content, DIGEST, Terms(roots=trusted(root), nonce=5)).verified
    assert client.post("/", content=b"x" * 5000).status_code == 413
    assert client.get("/").status_code == 405
    assert client.get("/nothing").status_code == 404


def test_the_command_shows_the_authorities_and_the_root(run: Run, tmp_path: Path) -> None:
    home = ("--home", str(tmp_path))
    assert run("tsa", "--json", *home).document == {
        "asked": ["local"],
        "local_root_sha256": None,
        "note": LOCAL_NOTICE,
    }
    pem = run("tsa", "root", *home).out
    assert pem.encode() == stored_root(tmp_path)
    wrote = run("tsa", "root", "-o", tmp_path / "root.pem", *home)
    assert LOCAL_NOTICE in wrote.out
    assert (tmp_path / "root.pem").read_text() == pem
    status = run("tsa", "status", *home).out
    assert trusted(pem.encode())[0].sha256 in status
    assert LOCAL_NOTICE in status


def test_accepted_connections_send_without_delay() -> None:
    with bind("127.0.0.1", 0, expose=False) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_other_machines_need_expose(run: Run, tmp_path: Path) -> None:
    refused = run("tsa", "serve", "--host", "0.0.0.0", "--home", tmp_path)
    assert refused.code == 2
    assert "--expose" in refused.err
