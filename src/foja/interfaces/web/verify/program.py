"""The program of a judge: load all of it, give everything else up, then judge what one request sent.

`judge` starts it as `python -I -m foja.interfaces.web.verify.program MEMORY CPU SECONDS FILE`, FILE being the
number of an open file, or -1. The judge imports parts of itself late; here all are loaded before its files
are gone.
"""

from __future__ import annotations

import json
import os
import pkgutil
import sys
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from importlib import import_module
from typing import Any, BinaryIO

import foja.pure.core
import foja.pure.judge
import foja.pure.models.documents
import foja.pure.proofs
from foja.engine.sandbox import guards, protocol
from foja.errors import FojaError
from foja.pure.judge.render.view import view_report
from foja.pure.judge.trust_parser import read
from foja.verification import verify

PACKAGES = (foja.pure.core, foja.pure.models.documents, foja.pure.judge, foja.pure.proofs)
LATE = (
    "Crypto.Hash.RIPEMD160",
    "Crypto.Hash.keccak",
    "cryptography.hazmat.primitives.serialization.pkcs7",
    "cryptography.x509.ocsp",
    "encodings.idna",
    "orjson",
)


def main(memory: int, cpu: int, seconds: int, file: int) -> None:
    """Judge the request at standard input."""
    network = guards.leave_network()
    for name in (*_modules(), *LATE):
        import_module(name)
    subject = os.fdopen(file, "rb") if file >= 0 else None
    verify(b"", at=datetime.fromisoformat("2026-01-01T00:00:00+00:00")).json()
    entered = guards.enter(network=network, memory=memory, cpu=cpu)
    protocol.write(1, {"guards": asdict(entered)})
    if message := protocol.read(0):
        guards.allow_seconds(seconds)
        protocol.write(1, *_answer(subject, bytes(message[1])))


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield each.name


def _answer(subject: BinaryIO | None, text: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the report as bytes, or why the request is refused."""
    asked = json.loads(text)
    try:
        report = verify(
            subject,
            read([each if isinstance(each, str) else b64decode(each["base64"]) for each in asked["trust"]]),
            datetime.fromisoformat(asked["at"]) if asked["at"] else None,
            proofs=[b64decode(each) for each in asked["proofs"]],
            digest=asked["digest"],
            name=asked["name"],
            domain=asked["domain"],
        )
        language = asked["language"]
        shown = json.dumps(asdict(view_report(report, language))).encode() if language else report.json()
        return {}, [shown]
    except FojaError as error:
        return {"refused": type(error).__name__, "detail": str(error)[:2000]}, []
    except MemoryError:
        return {"refused": "TooLarge", "detail": "it needs more memory than a judge may use"}, []


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
