"""Timestamp authorities that can be installed from a registry, each in a separate process."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from bench.contenders.messagedb import PEERS
from foja.engine.embedded.tsa.issuer import SigningIdentity, new_root, new_signer
from foja.engine.remote.tsa import Connections
from foja.pure.proofs.tsa import request

FOJA, CERTOMANCER, OPENSSL, SIGSTORE = "foja tsa serve", "certomancer", "openssl ts", "@sigstore/mock"
MOCK, MOCK_VERSION = "@sigstore/mock", "0.13.0"
ABSENT = f"{MOCK} is missing: npm could not install it."
SERVERS = Path(__file__).parent.parent / "servers"
TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class RunningAuthority:
    """A running authority: its URL, the format of its requests, and the root of its tokens."""

    name: str
    note: str
    url: str
    root: bytes
    query: Callable[[bytes, int], bytes]


def _der_request(digest: bytes, nonce: int) -> bytes:
    return request(digest, nonce=nonce)


@contextmanager
def foja(folder: Path) -> Iterator[RunningAuthority]:
    """Run `foja tsa serve`."""
    program = "import sys; from foja.interfaces.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "tsa", "serve", "--port", "0", "--home", str(folder)]
    with _running(command, folder) as line:
        url = line.split()[2].rstrip(";")
        yield RunningAuthority(
            FOJA, "P-256, milliseconds, serials of 127 bits", url, _fetch(f"{url}/root.pem"), _der_request
        )


@contextmanager
def openssl(folder: Path) -> Iterator[RunningAuthority]:
    """Run `openssl ts` behind a small HTTP server."""
    root = _write_identities(folder)
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(OPENSSL_CONFIGURATION)
    with _running([sys.executable, "-m", "bench.servers.openssl_tsa", str(folder)], folder) as port:
        note = "P-256; starts a process for every token"
        yield RunningAuthority(OPENSSL, note, f"http://127.0.0.1:{port}/", root.pem, _der_request)


@contextmanager
def certomancer(folder: Path) -> Iterator[RunningAuthority]:
    """Run the server of certomancer."""
    _write_identities(folder)
    (folder / "certomancer.yml").write_text(CERTOMANCER_CONFIGURATION)
    port = _free_port()
    program = str(Path(sys.executable).with_name("certomancer"))
    command = [program, "--config", "certomancer.yml", "animate", "--no-web-ui", "--port", str(port)]
    with _running(command, folder, wait_for=f"http://127.0.0.1:{port}/"):
        root = _fetch(f"http://127.0.0.1:{port}/lab/certs/root/ca.crt")
        url = f"http://127.0.0.1:{port}/lab/tsa/tsa"
        yield RunningAuthority(CERTOMANCER, "P-256; meant for tests", url, root, _der_request)


@contextmanager
def sigstore(folder: Path) -> Iterator[RunningAuthority]:
    """Run the authority of the tests of Sigstore."""
    command = ["node", str(SERVERS / "sigstore_mock.cjs"), str(_find_mock())]
    with _running(command, folder) as port:
        url = f"http://127.0.0.1:{port}/"
        note = "P-256; meant for tests: requests in JSON, one serial for all tokens"
        yield RunningAuthority(SIGSTORE, note, url, _fetch(f"{url}root"), _json_request)


def all_authorities() -> list[Callable[[Path], AbstractContextManager[RunningAuthority]]]:
    """Return the authorities that are available here; ours is the first."""
    return [foja, certomancer, openssl, *([sigstore] if _find_mock() else [])]


def connections() -> AbstractAsyncContextManager[Connections]:
    """Return the HTTP client that is used for every authority."""
    return aclosing(Connections(timeout_seconds=TIMEOUT_SECONDS))


@cache
def _find_mock() -> Path | None:
    """Return the folder of @sigstore/mock, installed on first use; None if npm fails."""
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


def _json_request(digest: bytes, nonce: int) -> bytes:
    fields = {"artifactHash": b64encode(digest).decode(), "hashAlgorithm": "sha256", "certificates": True}
    return json.dumps({**fields, "nonce": nonce}).encode()


def _write_identities(folder: Path) -> SigningIdentity:
    """Write keys and certificates like those of our authority; return the root."""
    now = datetime.now(UTC) - timedelta(minutes=1)
    root = new_root(now)
    signer = new_signer(root, now)
    for name, each in (("root", root), ("signer", signer)):
        (folder / f"{name}.pem").write_bytes(each.pem)
        (folder / f"{name}.key").write_bytes(each.encode().partition(b"-----BEGIN CERTIFICATE")[0])
    return root


@contextmanager
def _running(command: list[str], folder: Path, wait_for: str = "") -> Iterator[str]:
    """Run a server; yield its first line of output, or `wait_for` once that URL answers."""
    process = subprocess.Popen(
        command,
        cwd=folder if wait_for else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield _wait_until_up(wait_for) if wait_for else process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def _wait_until_up(url: str) -> str:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        try:
            urlopen(url, timeout=1).close()
        except URLError as error:
            if hasattr(error, "code"):
                return url
            time.sleep(0.1)
        else:
            return url
    raise RuntimeError(f"no server answers at {url} within {TIMEOUT_SECONDS:g} s")


def _fetch(url: str) -> bytes:
    with urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
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
