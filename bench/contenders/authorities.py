"""Timestamp authorities that can be installed from a registry, each served by a process of its own."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from bench.contenders.messagedb import PEERS
from foja.embedded.tsa.issuer import SigningIdentity, new_root, new_signer
from foja.proofs.tsa import request
from foja.remote.tsa import Connections

FOJA, CERTOMANCER, OPENSSL, SIGSTORE = "foja tsa serve", "certomancer", "openssl ts", "@sigstore/mock"
MOCK, MOCK_VERSION = "@sigstore/mock", "0.13.0"
ABSENT = f"{MOCK} is left out: npm could not bring it."
SERVERS = Path(__file__).parent.parent / "servers"
PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Served:
    """An authority that listens, how it wants to be asked, and the root its tokens are checked against."""

    name: str
    note: str
    url: str
    root: bytes
    query: Callable[[bytes, int], bytes]


def _der(digest: bytes, nonce: int) -> bytes:
    return request(digest, nonce=nonce)


@contextmanager
def foja(folder: Path) -> Iterator[Served]:
    """Lend our own."""
    program = "import sys; from foja.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", program, "tsa", "serve", "--port", "0", "--home", str(folder)]
    with _running(words, folder) as said:
        url = said.split()[2].rstrip(";")
        yield Served(
            FOJA, "P-256, milliseconds, a serial of 127 bits", url, _fetched(f"{url}/root.pem"), _der
        )


@contextmanager
def openssl(folder: Path) -> Iterator[Served]:
    """Lend openssl behind a small server."""
    root = _certified(folder)
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(OPENSSL_CONFIGURATION)
    with _running([sys.executable, "-m", "bench.servers.openssl_tsa", str(folder)], folder) as port:
        note = "P-256; a program is started for every token"
        yield Served(OPENSSL, note, f"http://127.0.0.1:{port}/", root.pem, _der)


@contextmanager
def certomancer(folder: Path) -> Iterator[Served]:
    """Lend certomancer, as its own command serves it."""
    _certified(folder)
    (folder / "certomancer.yml").write_text(CERTOMANCER_CONFIGURATION)
    port = _free_port()
    program = str(Path(sys.executable).with_name("certomancer"))
    words = [program, "--config", "certomancer.yml", "animate", "--no-web-ui", "--port", str(port)]
    with _running(words, folder, wait_for=f"http://127.0.0.1:{port}/"):
        root = _fetched(f"http://127.0.0.1:{port}/lab/certs/root/ca.crt")
        url = f"http://127.0.0.1:{port}/lab/tsa/tsa"
        yield Served(CERTOMANCER, "P-256; meant for tests", url, root, _der)


@contextmanager
def sigstore(folder: Path) -> Iterator[Served]:
    """Lend the authority that Sigstore's own tests run against."""
    words = ["node", str(SERVERS / "sigstore_mock.cjs"), str(_mock())]
    with _running(words, folder) as port:
        url = f"http://127.0.0.1:{port}/"
        note = "P-256; meant for tests: asked in JSON, one serial for all tokens"
        yield Served(SIGSTORE, note, url, _fetched(f"{url}root"), _json)


def everybody() -> list[Callable[[Path], AbstractContextManager[Served]]]:
    """Return all that can be had here, ours first."""
    return [foja, certomancer, openssl, *([sigstore] if _mock() else [])]


def connections() -> Connections:
    """Return the client that everybody is asked with."""
    return Connections(timeout_seconds=PATIENCE)


@cache
def _mock() -> Path | None:
    """Return the folder of @sigstore/mock, fetched on first use; None if npm cannot."""
    package = PEERS / "node_modules" / MOCK
    if not package.exists() and (npm := shutil.which("npm")):
        wanted = f"{MOCK}@{MOCK_VERSION}"
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(PEERS), wanted]
        PEERS.mkdir(exist_ok=True)
        try:
            subprocess.run(command, capture_output=True, timeout=120, check=True)
        except (subprocess.SubprocessError, OSError):
            return None
    return package if package.exists() else None


def _json(digest: bytes, nonce: int) -> bytes:
    asked = {"artifactHash": b64encode(digest).decode(), "hashAlgorithm": "sha256", "certificates": True}
    return json.dumps({**asked, "nonce": nonce}).encode()


def _certified(folder: Path) -> SigningIdentity:
    """Write the keys and certificates of an authority like ours, for others to use."""
    now = datetime.now(UTC) - timedelta(minutes=1)
    root = new_root(now)
    signer = new_signer(root, now)
    for name, each in (("root", root), ("signer", signer)):
        (folder / f"{name}.pem").write_bytes(each.pem)
        (folder / f"{name}.key").write_bytes(each.encode().partition(b"-----BEGIN CERTIFICATE")[0])
    return root


@contextmanager
def _running(words: list[str], folder: Path, wait_for: str = "") -> Iterator[str]:
    """Run a server; lend the first line it says, or what it says once its address answers."""
    process = subprocess.Popen(
        words, cwd=folder if wait_for else None, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield _wait(wait_for) if wait_for else process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def _wait(url: str) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            urlopen(url, timeout=1).close()
        except URLError as error:
            if hasattr(error, "code"):
                return url
            time.sleep(0.1)
        else:
            return url
    raise RuntimeError(f"nobody answers at {url}")


def _fetched(url: str) -> bytes:
    with urlopen(url, timeout=PATIENCE) as answer:
        data: bytes = answer.read()
    return data


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


OPENSSL_CONFIGURATION = """
[tsa]
default_tsa = ours
[ours]
serial = serial
crypto_device = builtin
signer_cert = signer.pem
signer_key = signer.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
clock_precision_digits = 3
ordering = no
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""

CERTOMANCER_CONFIGURATION = """
external-url-prefix: "http://127.0.0.1"
keysets:
  lab:
    keys:
      root: {path: root.key}
      tsa: {path: signer.key}
pki-architectures:
  lab:
    keyset: lab
    entities:
      root: {common-name: Lab Root}
      tsa: {common-name: Lab TSA}
    certs:
      root:
        subject: root
        issuer: root
        validity: {valid-from: "2020-01-01T00:00:00+0000", valid-to: "2050-01-01T00:00:00+0000"}
        profiles:
          - id: simple-ca
      tsa:
        subject: tsa
        issuer: root
        validity: {valid-from: "2020-01-01T00:00:00+0000", valid-to: "2050-01-01T00:00:00+0000"}
        extensions:
          - {id: key_usage, critical: true, smart-value: {schema: key-usage, params: [digital_signature]}}
          - {id: extended_key_usage, critical: true, value: [time_stamping]}
    services:
      time-stamping:
        tsa: {signing-cert: tsa}
      cert-repo:
        root: {for-issuer: root}
"""
