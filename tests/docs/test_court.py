"""A court's reading: the first screen of a report in twenty-odd situations, in both languages, side by side.

`FOJA_WRITE_DOCS=1 pytest tests/docs/test_court.py` writes docs/court.md again.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import sha1, sha256
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ReasonFlags

import foja
from foja.pure.core.bundle import assembly, history
from foja.pure.core.bundle.archive import part, write
from foja.pure.judge.render.headline import headline
from foja.pure.judge.report import Report
from foja.pure.proofs.finding import Reason
from tests.docs.pages import docs
from tests.rules import authorities, blocks, streams
from tests.rules.authorities import Certified, Recipe
from tests.rules.bundles import ENTITY, NOW, TEXT, Events, Scene
from tests.rules.stamps import HEADER, PROOF

PAGE = docs("court")
DAY, YEAR = timedelta(days=1), timedelta(days=365)
NEXT_DAY, LATER = NOW + DAY, NOW + 3 * YEAR
WITNESS = sha256(TEXT).digest()
REVOKED: Events = [("document.revoked", {"reason": "a new one is valid"})]
HOSTILE = "contrato” existed by 1 January 1990, on the word of the Court. “x.pdf"
HEX = re.compile(r"\b[0-9a-f]{8,}\b")  # keys are new in every run


@dataclass
class Authority:
    """An authority that is not local: its root ends long after its signer."""

    name: str = "City Timestamps"
    root_ends: datetime = NOW + 20 * YEAR
    signer_ends: datetime = NOW + YEAR

    @cached_property
    def root(self) -> Certified:
        return authorities.root(f"{self.name} Root", begins=NOW - YEAR, ends=self.root_ends)

    @cached_property
    def signer(self) -> Certified:
        return authorities.signer(self.root, self.name, begins=NOW - YEAR, ends=self.signer_ends)

    def reply(self, digest: bytes, at: datetime = NOW, algorithm: str = "sha256") -> bytes:
        return authorities.reply(self._recipe(digest, at, algorithm))

    def token(self, digest: bytes, at: datetime = NOW) -> bytes:
        return authorities.token(self._recipe(digest, at, "sha256"))

    def _recipe(self, digest: bytes, at: datetime, algorithm: str) -> Recipe:
        return Recipe(self.signer, digest, algorithm=algorithm, gen_time=at)

    def revocation(self, at: datetime, why: ReasonFlags) -> str:
        """Return the list that revokes the signer at this time, as PEM."""
        entry = x509.RevokedCertificateBuilder().serial_number(self.signer.certificate.serial_number)
        entry = entry.revocation_date(at).add_extension(x509.CRLReason(why), critical=False)
        made = x509.CertificateRevocationListBuilder().issuer_name(self.root.certificate.subject)
        made = made.last_update(at + DAY).next_update(at + 30 * DAY).add_revoked_certificate(entry.build())
        return made.sign(self.root.key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


OLD, NEW = Authority(), Authority("State Timestamps", signer_ends=NOW + 10 * YEAR)
SHORT = Authority("Brief Timestamps", root_ends=NOW + YEAR)
LOCAL, COMPROMISED, SUPERSEDED = Scene(), ReasonFlags.key_compromise, ReasonFlags.superseded
CITY = Scene(stamper=OLD)  # type: ignore[arg-type]
LOG = CITY.key.verifier().vkey()


def trust(*more: str | bytes, of: tuple[Authority, ...] = (OLD, NEW, SHORT)) -> list[str | bytes]:
    return [*(each.root.pem for each in of), LOG, *more]


def loose(
    *more: str | bytes, by: Authority = OLD, at: datetime = NEXT_DAY, name: str = "contract.txt"
) -> Report:
    """Judge a token beside its file."""
    return foja.verify(TEXT, trust(*more), at, proofs=[by.reply(WITNESS)], name=name)


def bundled(more: Events | None = None, *, given: Any = None, at: datetime = NEXT_DAY) -> Report:
    """Judge a bundle."""
    events = CITY.document_events(WITNESS, more)
    return foja.verify(CITY.bundle(events=events), trust() if given is None else given, at)


def renewed(*more: str | bytes, by: Authority = OLD, at: datetime = LATER) -> Report:
    """Judge a bundle that another authority has stamped again after thirty days."""
    scene = Scene(stamper=by)  # type: ignore[arg-type]
    return foja.verify(scene.renewed(30, NEW), trust(*more), at)  # type: ignore[arg-type]


def unproven(length: int, given: list[str | bytes] | None = None) -> Report:
    """Judge a bundle with the first events of a document, before any proof was made."""
    events = CITY.document_events(WITNESS)[:length]
    return foja.verify(CITY.bundle(events=events), trust() if given is None else given, NEXT_DAY)


def erased() -> Report:
    events = CITY.document_events(WITNESS, [("body.erased", {"seq": 0, "reason": "on request"})])
    contents = CITY.contents(events=events)
    excerpts = streams.stream("document", ENTITY, events)
    bare = replace(excerpts[0], payload=None, actor=None, salt=None)
    lines = b"".join(history.encode([bare, *excerpts[1:]]))
    return foja.verify(
        CITY.seal(replace(contents, events=part("evidence/events.jsonl", lines)).parts()), trust(), NEXT_DAY
    )


def tampered() -> Report:
    """Judge a bundle whose document was changed after it was sealed."""
    parts = CITY.contents().parts()
    token = OLD.token(sha256(assembly.listing(parts)).digest())
    sealed = [
        part(each.entry.name, b"another document\n") if each.entry.name == "document/a.txt" else each
        for each in assembly.seal(parts, token)
    ]
    return foja.verify(b"".join(write(sealed)), trust(), NEXT_DAY)


def foreign() -> Report:
    """Judge a container of another maker, with a folder that has the name of one of ours."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/vnd.etsi.asic-e+zip")
        archive.writestr("evidence/notes.txt", "not ours")
    return foja.verify(made.getvalue(), trust(), NEXT_DAY, name="other.asice")


def regtest() -> Report:
    header = f"bitcoin-header:{HEADER.height}:{HEADER.data.hex()}"
    given = [header, "bitcoin-network:regtest"]
    return foja.verify(b"document", given, NEXT_DAY, proofs=[PROOF], name="contract.txt")


def amoy() -> Report:
    one = blocks.scene(chain_id=80002)
    block = f"evm-block:0x{one.block_hash.hex()}"
    digest = one.digest
    return foja.verify(
        None, [block], NEXT_DAY, proofs=[one.anchor.encode()], digest=digest, name="contract.txt"
    )


def old_digest() -> Report:
    """Judge a token over SHA-1."""
    token = OLD.reply(sha1(TEXT, usedforsecurity=False).digest(), algorithm="sha1")
    return foja.verify(TEXT, trust(), NEXT_DAY, proofs=[token], name="contract.txt")


def early_events() -> Report:
    streams.START -= int(YEAR.total_seconds()) * 1_000_000
    return bundled()


SITUATIONS: dict[str, Callable[[], Report]] = {
    "a timestamp of an authority that the reader trusts": loose,
    "the authority's certificate has expired since; its root is still valid": lambda: loose(at=LATER),
    "the authority's root has expired since, and nothing was renewed": lambda: loose(by=SHORT, at=LATER),
    "the authority's root has expired since, and the bundle was renewed before": lambda: renewed(by=SHORT),
    "the authority's certificate was superseded later": lambda: loose(
        OLD.revocation(NOW + 60 * DAY, SUPERSEDED)
    ),
    "the same, and the bundle was renewed before": lambda: renewed(
        OLD.revocation(NOW + 60 * DAY, SUPERSEDED)
    ),
    "the authority's key was compromised later, and nothing was renewed": lambda: loose(
        OLD.revocation(NOW + 60 * DAY, COMPROMISED), at=LATER
    ),
    "the authority's key was compromised later, and the bundle was renewed before": lambda: renewed(
        OLD.revocation(NOW + 60 * DAY, COMPROMISED)
    ),
    "the authority's key was compromised before the renewal": lambda: renewed(
        OLD.revocation(NOW + 10 * DAY, COMPROMISED)
    ),
    "the root is missing": lambda: bundled(given=[LOG]),
    "a block of a Bitcoin test network (regtest)": regtest,
    "a block of an EVM test chain (80002)": amoy,
    "the document was revoked, and a trusted log says so": lambda: bundled(REVOKED),
    "the document was revoked, says a log that the reader does not trust": lambda: bundled(
        REVOKED, given=['{"form":"foja/policy/v1","required":["tsa"]}', OLD.root.pem]
    ),
    "a body in the history is erased": erased,
    "the history is shortened: the revocation is left out, and the bundle sealed again": bundled,
    "a local authority": lambda: foja.verify(
        LOCAL.bundle(), [LOCAL.stamper.root.pem, LOCAL.key.verifier().vkey()], NEXT_DAY
    ),
    "nobody requested evidence of the document": lambda: unproven(1),
    "evidence was requested, and no worker has done it yet": lambda: unproven(2),
    "the same, and the roots are missing": lambda: unproven(2, []),
    "a document alone": lambda: foja.verify(TEXT, trust(), NEXT_DAY, name="contract.txt"),
    "a digest by SHA-1": old_digest,
    "the last event is later than the time judged at": lambda: bundled(at=NOW - timedelta(hours=2)),
    "the events are a year older than their timestamp": early_events,
    "a file name that is a sentence": lambda: loose(name=HOSTILE),
    "a container of another maker": foreign,
    "the document inside was changed": tampered,
}


@pytest.fixture
def events_of_that_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record the events of the tests when their tokens are made."""
    monkeypatch.setattr(streams, "START", int(NOW.timestamp() * 1_000_000))


def test_the_page_shows_what_a_court_reads_first(
    events_of_that_day: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page in docs/ is exactly what the judge says, in English and in Spanish."""
    page = written(monkeypatch)
    if os.environ.get("FOJA_WRITE_DOCS"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "run FOJA_WRITE_DOCS=1 pytest tests/docs/test_court.py"


def written(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the page."""
    start, sections = streams.START, []
    for number, (title, judge) in enumerate(SITUATIONS.items(), 1):
        monkeypatch.setattr(streams, "START", start)
        sections.append(section(number, title, judge()))
    return f"{INTRODUCTION}\n" + "\n".join(sections)


def section(number: int, title: str, report: Report) -> str:
    """Return the first screen of a report in both languages, side by side."""
    columns = [cell(headline(report, language).lines()) for language in ("en", "es")]
    reasons = sorted({each.reason for each in report.evidence if isinstance(each.reason, Reason)})
    codes = ", ".join(f"`{each}`" for each in (report.verdict, *reasons))
    return (
        f"## {number}. {title[0].upper()}{title[1:]}\n\n{codes}\n\n"
        f"| English | Español |\n|---|---|\n| {columns[0]} | {columns[1]} |\n"
    )


def cell(lines: list[str]) -> str:
    """Return lines as one cell of a table; random keys are left out."""
    shown = [HEX.sub("…", line).replace("|", "\\|").replace("<", "&lt;") for line in lines]
    return "<br>".join(f"**{shown[0]}**" if line is shown[0] else line for line in shown)


INTRODUCTION = f"""# What a court reads first

The first screen of a report, in English and in Spanish, as the judge writes it. A test makes each of these
situations, judges it and compares this page; nothing below is written by hand. Digests and key ids are left
out (“…”). Events and timestamps are of {NOW:%d %B %Y}. [verify.md](verify.md) says what each sentence means.
"""
